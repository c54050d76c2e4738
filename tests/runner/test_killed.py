"""The run's process is killed right after event k is on disk, for every k: nothing is lost, nothing is claimed."""

from __future__ import annotations

import asyncio
import json

import pytest

from console.runner.recover import recover
from console.runs.directory import base_folder
from console.runs.listing import find_run, list_runs
from console.schema.change import FileChange
from console.secrets import Redactor
from tests.runner.conftest import RUNBOOK, Desk

RAISE_POOL = ("--set", "mem_fraction=0.92")
KILLED = -9


def kill_after(desk: Desk, number: int) -> bool:
    """Kill a run after event `number`; False when the run ended before that."""
    done = desk.run("run", str(RUNBOOK), *RAISE_POOL, "--json", CONSOLE_TEST_KILL_AFTER=str(number))
    if done.returncode == 0:
        return False
    assert done.returncode == KILLED, done.stdout + done.stderr
    return True


def recover_all(desk: Desk) -> None:
    """`console recover`, without a process of its own for each of the many times."""
    base = base_folder(desk.environment)
    for summary in list_runs(base):
        if summary.needs_recover:
            asyncio.run(recover(find_run(base, summary.id), environment=desk.environment, redactor=Redactor()))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", [1, 2, 3])  # every third of them: the three parts run beside one another
def test_for_every_event(desk: Desk, first: int) -> None:
    before = desk.unit_text()
    number = first - 3
    while True:
        number += 3
        commits = desk.commits()
        if not kill_after(desk, number):
            break
        now = desk.unit_text()
        newest = list_runs(base_folder(desk.environment))[0]
        log = desk.state / "console" / "runs" / newest.id / "events.jsonl"
        events = [json.loads(line) for line in log.read_text().splitlines()]
        assert events[-1]["seq"] == number
        made = [e["change"] for e in events if e["type"] == "change.made" and e["kind"] == "file"]
        intended = [e["change"] for e in events if e["type"] == "change.intended" and e["kind"] == "file"]
        whole = {before} | {after_of(before, change) for change in intended}
        assert now in whole, f"after event {number} the unit file is neither the old nor the new one"
        if made:
            assert now != before
        assert not newest.alive
        proven = any(e["type"] == "service.verified" for e in events)
        assert ("verified" in newest.outcomes.values()) <= proven
        recover_all(desk)
        began = any(e["type"].startswith(("step.", "lock.", "change.")) for e in events)
        committed = any(e["type"] == "record.committed" for e in events)
        assert desk.commits() == commits + (1 if began else 0), (number, committed)
        recover_all(desk)
        assert desk.commits() == commits + (1 if began else 0), "recover commits once"
        if began:
            outcome = desk.git("log", "-1", "--format=%(trailers:key=Outcome,valueonly)").strip()
            unchanged = {"failed-unchanged", "aborted-unchanged"}
            assert (outcome == "verified") <= proven
            assert (outcome in unchanged) == (now == before), (number, outcome)
        if now != before or desk.show("ActiveState")["ActiveState"] != "active":
            desk.put_back(before)
    assert number > 40


def after_of(before: str, change: dict[str, object]) -> str:
    from console.schema.splice import apply

    return apply(before.encode(), FileChange.model_validate(change).splices).decode()
