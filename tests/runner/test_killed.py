"""The run's process is killed right after event k is on disk: nothing is lost, nothing is claimed."""

from __future__ import annotations

import asyncio
import json
import os

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


# Each of these is followed by something that has to be finished or told; of other kinds the first one stands for all.
EACH_OF = ("change.", "lock.", "record.", "target.", "run.")
EVERY = os.environ.get("CONSOLE_EVERY_KILL") == "1"


def moments(desk: Desk) -> list[int]:
    """After which events to kill: with CONSOLE_EVERY_KILL=1 after every one of a whole run."""
    before = desk.unit_text()
    code, events = desk.extend(*RAISE_POOL)
    assert code == 0
    desk.put_back(before)
    kinds = [event["type"] for event in events]
    assert len(kinds) > 40
    return [
        number
        for number, kind in enumerate(kinds, start=1)
        if EVERY or kind not in kinds[: number - 1] or kind.startswith(EACH_OF)
    ]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", [0, 1, 2])  # every third of them: the three parts run beside one another
def test_after_every_kind_of_event(desk: Desk, part: int) -> None:
    before = desk.unit_text()
    chosen = moments(desk)
    assert len(chosen) > 20
    for number in chosen[part::3]:
        commits = desk.commits()
        if not kill_after(desk, number):
            assert number >= chosen[-3], "a run has a line of the engine's log more or less than another, not many"
            continue
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


def after_of(before: str, change: dict[str, object]) -> str:
    from console.schema.splice import apply

    return apply(before.encode(), FileChange.model_validate(change).splices).decode()
