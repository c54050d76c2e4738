"""The run's process is killed, with SIGKILL, after each event of a change. A colleague finishes."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.hosts import remains
from tests.hosts.engine_unit import UNIT, install_engine, start_and_wait, unit_text
from tests.hosts.host import Host
from tests.real.desk import Desk
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import UNIT_FILE, everywhere, flag, lock_is_free, starts

pytestmark = pytest.mark.real_host

# Where each kill leaves the host: the value on disk, and the one in the running process; and how it is finished; with
# CONSOLE_EVERY_KILL=1, as `make matrix` has it, both ways.
LEFT = {
    ("change.intended", "file"): ("32768", "32768", "resume"),
    ("change.made", "file"): ("200000", "32768", "rollback"),
    ("change.intended", "reload"): ("200000", "32768", "rollback"),
    ("change.made", "reload"): ("200000", "32768", "resume"),
    ("change.intended", "restart"): ("200000", "32768", "resume"),
    ("change.made", "restart"): ("200000", "200000", "rollback"),
}
EVERY = os.environ.get("CONSOLE_EVERY_KILL") == "1"


def test_every_kill_is_told_truly_and_can_be_finished(fresh_hosts: Callable[[int], list[Host]], tmp_path: Path) -> None:
    hosts = fresh_hosts(len(LEFT))
    install_engine(hosts[0], load_s=QUICK_LOAD_S)
    whole = Desk(tmp_path / "whole", [hosts[0]]).extend()
    assert whole.code == 0, whole.err
    numbers = {
        (event["type"], event["kind"]): event["seq"] for event in whole.events if event["type"].startswith("change.")
    }
    assert set(numbers) == set(LEFT)

    def play(number: int) -> None:
        moment = list(LEFT)[number]
        for verb in ("resume", "rollback") if EVERY else (LEFT[moment][2],):
            desk = Desk(tmp_path / f"{number}-{verb}", [hosts[number]])
            kill_and_finish(hosts[number], desk, moment, numbers[moment], verb)

    with ThreadPoolExecutor(3) as pool:
        for told in [pool.submit(play, number) for number in range(len(LEFT))]:
            told.result()


def kill_and_finish(host: Host, desk: Desk, moment: tuple[str, str], seq: int, verb: str) -> None:
    install_engine(host, load_s=QUICK_LOAD_S)
    before = host.read_bytes(UNIT_FILE)
    after = before.replace(b" 32768 ", b" 200000 ")
    first = starts(host)

    killed = desk.extend(environment={"CONSOLE_TEST_KILL_AFTER": str(seq)})

    assert killed.code == -9, killed
    last = killed.events[-1]
    assert (last["type"], last["kind"]) == moment
    disk, running, _ = LEFT[moment]
    assert host.read_bytes(UNIT_FILE) == (before if disk == "32768" else after), moment
    assert host.out("find", "/etc/systemd/system", "-name", ".*") == ""
    # A restart is asked for and not waited for.
    assert remains.wait_until(lambda: said_by_process(host) == running, 15.0, every_s=0.1), moment
    assert remains.wait_until(lambda: lock_is_free(host), 5.0, every_s=0.1), moment
    (listed,) = desk.open_runs()
    assert (listed["id"], listed["needs_recover"]) == (killed.run_id, True)

    recovered = desk.console("recover")

    assert recovered.code == 0, recovered.err
    (record,) = desk.findings.rglob("record.json")
    outcome = record.read_text().partition('"outcome": "')[2].partition('"')[0]
    assert outcome in (("applied-unverified",) if disk == "200000" else ("failed-unchanged", "aborted-unchanged")), (
        moment
    )
    assert f"gpu{host.name[3:]}/k26  {outcome}" in recovered.out
    assert len(desk.commits()) == 1
    assert desk.console("recover").code == 0
    assert len(desk.commits()) == 1
    assert host.read_bytes(UNIT_FILE) == (before if disk == "32768" else after), moment
    assert starts(host) == first + (running == "200000")

    ended = desk.console(verb, killed.run_id, "--yes")

    assert ended.code == 0, (moment, verb, ended.err)
    goal = "200000" if verb == "resume" else "32768"
    assert everywhere(host) == (goal,) * 4, (moment, verb)
    assert host.read_bytes(UNIT_FILE) == (after if verb == "resume" else before)
    # Nothing is restarted that runs what it should.
    restarts = (running != goal) + (running == "200000")
    assert starts(host) == first + restarts, (moment, verb)
    assert desk.open_runs() == []
    if verb == "resume":
        host.write_unit(UNIT, unit_text())
        start_and_wait(host)


def said_by_process(host: Host) -> str:
    argv = host.main_argv(UNIT)
    return flag(argv) if "--context-length" in argv else ""
