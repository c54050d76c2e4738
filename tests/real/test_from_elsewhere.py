"""A run followed, stopped, and finished from somewhere else: another terminal, and another machine."""

from __future__ import annotations

import json
import shutil
import signal

import pytest

from tests.hosts import remains
from tests.hosts.engine_unit import set_simulator
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk, Done
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import LOCK, UNIT_FILE, everywhere, lock_is_free, starts

pytestmark = pytest.mark.real_host

LOAD_S = 1200.0  # of the simulator: a minute, and nobody waits for its end


def killed_after(desk: Desk, kind: str, change: str) -> Done:
    """A run whose process is killed as soon as that is in its log."""
    going = desk.start("run", EXTEND_CONTEXT, "--reason", "more context")
    going.wait_for(lambda event: event["type"] == kind and event.get("kind") == change)
    going.stop(signal.SIGKILL)
    return going.end()


def test_attached_terminal_follows_extends_and_stops(host: Host, desk: Desk) -> None:
    before = host.read_bytes(UNIT_FILE)
    set_simulator(host, load_s=LOAD_S)
    going = desk.start("run", EXTEND_CONTEXT)
    going.wait_for_phase("weights", "graphs")
    follower = desk.start("attach", "--json")

    extended = desk.console("attach", "--extend", "10")
    wrong = desk.console("attach", "--answer", "yes")
    set_simulator(host, load_s=QUICK_LOAD_S)
    stopped = desk.console("attach", "--abort", "--choice", "rollback")
    done, followed = going.end(), follower.end()

    assert (extended.code, stopped.code) == (0, 0), extended.err + stopped.err
    assert wrong.code == 1
    assert "nothing is asked" in wrong.err
    assert done.code == followed.code == 4, done.err
    assert [json.loads(line)["seq"] for line in followed.out.splitlines()] == [event["seq"] for event in done.events]
    assert [event["minutes"] for event in done.of("wait.extended")] == [10.0]
    (abort,) = done.of("abort.requested")
    assert abort["how"].startswith("attach by ")
    assert host.read_bytes(UNIT_FILE) == before
    assert desk.console("attach", "--abort").code == 2


@pytest.mark.parametrize("back", [False, True], ids=["goes on", "rolls back"])
def test_run_whose_laptop_is_gone_is_finished_on_another(host: Host, make_desk: MakeDesk, back: bool) -> None:
    laptop, other = make_desk([host]), make_desk([host])
    before, first = host.read_bytes(UNIT_FILE), starts(host)
    killed = killed_after(laptop, "change.made", "restart" if back else "file")
    shutil.rmtree(laptop.folder / "state")

    shown = other.console("runs", "--everywhere", "--json")
    assert shown.code == 0, shown.err
    (entry,) = [json.loads(line) for line in shown.out.splitlines()]
    assert (entry["run"], entry["target"], entry["reason"]) == (
        killed.run_id,
        f"{host.name}/k26",
        "more context",
    )
    assert f"console takeover {killed.run_id}" in other.console("runs", "--everywhere").out
    ended = other.console("takeover", killed.run_id, "--yes", *(["--rollback"] if back else []))

    assert ended.code == 0, ended.err
    assert ended.outcome == "verified"
    assert ended.record["parent"] == killed.run_id
    assert " from " in ended.record["taken_over_from"]
    assert other.trailers()["Taken-Over-From"] == [ended.record["taken_over_from"]]
    assert everywhere(host) == (("32768",) if back else ("200000",)) * 4
    assert (host.read_bytes(UNIT_FILE) == before) is back
    assert starts(host) == first + (2 if back else 1)
    assert other.console("runs", "--everywhere", "--json").out == ""
    assert other.console("takeover", killed.run_id, "--yes").code == 1


def test_hanging_lock_is_shown_with_evidence_and_freed_by_its_runs_name(host: Host, make_desk: MakeDesk) -> None:
    one, two = make_desk([host]), make_desk([host])
    set_simulator(host, load_s=800.0)
    going = one.start("run", EXTEND_CONTEXT)
    going.wait_for_phase("weights", "graphs")
    folder = going.folder
    assert folder is not None
    alive = lock_of(two)
    refused = two.console("runs", "--break", folder.name)
    assert alive["state"] == "held"
    assert float(str(alive["heard_s"])) < 6
    assert alive["run"] == folder.name
    assert refused.code == 6
    assert "is alive" in refused.err

    # What holds it hangs: it hears no line any more, and cannot let go either.
    host.run("kill", "-STOP", str(alive["pid"]))
    host.run("pkill", "-STOP", "-P", str(alive["pid"]))
    assert remains.wait_until(lambda: lock_of(two)["state"] == "stale", 20.0, every_s=0.5)
    wrong = two.console("runs", "--break", folder.name[:14])
    broken = two.console("runs", "--break", folder.name)

    assert wrong.code == 2
    assert broken.code == 0, broken.err
    assert lock_is_free(host)
    assert '"broken"' in host.read(LOCK)
    assert f"lock of run {folder.name} broken by" in host.out(
        "journalctl", "--quiet", "--output=cat", "--identifier=console"
    )
    going.stop(signal.SIGKILL)
    going.end()
    set_simulator(host, load_s=QUICK_LOAD_S)
    back = two.console("takeover", folder.name, "--yes", "--rollback")
    assert back.code == 0, back.err
    assert everywhere(host) == ("32768",) * 4


def lock_of(desk: Desk) -> dict[str, object]:
    shown = desk.console("runs", "--locks", "--json")
    assert shown.code == 0, shown.err
    found: dict[str, object] = json.loads(shown.out)
    return found
