"""Going on with a run and undoing it, on the embedded lab: one restart where one is due, and none where none is."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.runner.conftest import RUNBOOK, Desk, of_type

BALANCER = """
[groups.all]
members = ["lab1/k26"]
min_ready = 0
[groups.all.balancer]
out = "echo out >>{door}"
in = "echo in >>{door}"
runs = "console"
"""
RAISE_POOL = ("--set", "mem_fraction=0.92")


def stopped_at(desk: Desk, when: Callable[[dict[str, Any]], bool], *words: str) -> tuple[int, list[dict[str, Any]]]:
    """Start a command, send SIGINT at the first event that fits, and wait for its end."""
    process = desk.start(*words, "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    events = []
    sent = False
    for line in process.stdout:
        events.append(json.loads(line))
        if not sent and when(events[-1]):
            process.send_signal(signal.SIGINT)
            sent = True
    process.stdout.close()
    process.stderr.close()
    assert sent
    return process.wait(), events


def loading(event: dict[str, Any]) -> bool:
    return bool(event["type"] == "step.progress" and event["phase"] in ("starting", "weights"))


def invocation(desk: Desk) -> str:
    return desk.show("InvocationID")["InvocationID"]


def test_resume_does_not_restart_a_service_that_still_loads(desk: Desk) -> None:
    desk.lab.set_fault("slow-load", 32768)
    code, events = stopped_at(desk, loading, "run", str(RUNBOOK), *RAISE_POOL)
    assert code == 3
    before = invocation(desk)
    assert not desk.lab.is_ready(), "the load is over too early for this test"
    done = desk.run("resume", events[0]["run"], "--yes", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    again = [json.loads(line) for line in done.stdout.splitlines()]
    assert not of_type(again, "change.made")
    assert invocation(desk) == before
    assert of_type(again, "run.finished")[0]["outcomes"] == {"lab1/k26": "verified"}
    ledger = json.loads(desk.run("facts", "--json").stdout)["ledger"]
    assert [entry["state"] for entry in ledger if entry["state"] == "open"] == []
    follow = of_type(again, "target.finished")[0]["next"]
    assert f"console rollback {events[0]['run']}" in follow
    back = desk.run("rollback", again[0]["run"], "--yes")
    assert back.returncode == 0, back.stdout + back.stderr
    assert "--context-length 32768" in desk.unit_text()


def test_a_run_that_has_ended_is_not_gone_on_with(desk: Desk) -> None:
    code, events = desk.extend_unchecked()
    assert code == 4
    before = invocation(desk)
    done = desk.run("resume", events[0]["run"], "--yes")
    assert done.returncode == 1
    assert "rolled-back" in done.stderr
    assert invocation(desk) == before


def test_what_others_left_on_disk_is_named_again_before_a_way_back(desk: Desk) -> None:
    code, events = desk.extend(*RAISE_POOL)
    assert code == 0
    unit = desk.lab.service().unit_file
    folder = unit.parent / f"{unit.name}.d"
    folder.mkdir()
    line = next(line for line in desk.lab.show(desk.unit, "ExecStart").values())
    argv = line.partition("argv[]=")[2].partition(" ; ")[0]
    (folder / "10-others.conf").write_text(f"[Service]\nExecStart=\nExecStart={argv} --max-running-requests 64\n")
    before = invocation(desk)
    try:
        refused = desk.run("rollback", events[0]["run"], "--yes")
        assert refused.returncode == 1, refused.stdout + refused.stderr
        assert "--max-running-requests" in refused.stderr + refused.stdout
        assert invocation(desk) == before
    finally:
        (folder / "10-others.conf").unlink()
        folder.rmdir()


def test_a_run_with_accepted_words_can_be_rolled_back_out_of_the_balancer(desk: Desk, tmp_path: Path) -> None:
    unit, door = desk.lab.service().unit_file, tmp_path / "door"
    original, inventory = desk.unit_text(), desk.lab.hosts_toml.read_text()
    desk.lab.hosts_toml.write_text(inventory + BALANCER.format(door=door))
    unit.write_text(original.replace("--tp-size 8", "--tp-size 8 --max-running-requests 64"))
    edited = desk.unit_text()
    code, events = desk.extend(*RAISE_POOL, "--yes", "--accept-pending")
    assert code == 0
    back = desk.run("rollback", events[0]["run"], "--yes", "--json")
    desk.lab.hosts_toml.write_text(inventory)
    assert back.returncode == 0, back.stdout + back.stderr
    assert desk.unit_text() == edited
    # No client meets the second restart either, and what still ran was waited for.
    assert door.read_text().split() == ["out", "in", "out", "in"]
    done = of_type([json.loads(line) for line in back.stdout.splitlines()], "step.finished")
    order = [event["uses"] for event in done]
    assert order[:4] == ["lb.out", "service.drain", "unit.restore", "systemd.daemon_reload"]
    assert order[-1] == "lb.in"
    desk.put_back(original)


def test_a_rollback_cut_off_in_its_wait_is_finished_not_reversed(desk: Desk) -> None:
    code, _ = desk.extend(*RAISE_POOL)
    assert code == 0
    desk.lab.set_fault("slow-load")
    code, events = stopped_at(desk, loading, "rollback", "lab1/k26", "--yes")
    assert code == 3
    assert f"console resume {events[0]['run']}" in of_type(events, "target.finished")[0]["next"]
    done = desk.run("rollback", "lab1/k26", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--context-length 32768" in desk.unit_text()
    assert desk.run("runs", "--open").stdout == ""


def test_a_stop_before_the_restart_puts_the_file_back(desk: Desk) -> None:
    before, started = desk.unit_text(), invocation(desk)
    code, events = stopped_at(
        desk, lambda event: event["type"] == "change.made" and event["kind"] == "file", "run", str(RUNBOOK), *RAISE_POOL
    )
    assert code == 130
    assert desk.unit_text() == before
    assert invocation(desk) == started
    assert of_type(events, "run.finished")[0]["outcomes"] == {"lab1/k26": "aborted-unchanged"}
    assert desk.show("NeedDaemonReload")["NeedDaemonReload"] == "no"
