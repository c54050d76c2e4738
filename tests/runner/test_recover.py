"""Closing a dead run: not before what it sent is over, and every file of an unfinished undo is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from console.remote.session import Output, Reader
from console.runner import recover as recovering
from console.runner.recover import recover
from console.runs.log import read_events
from console.schema.change import FileChange
from console.schema.events import (
    ChangeIntended,
    ChangeMade,
    ChangeUndoing,
    ChangeUndone,
    Event,
    GuardChanged,
    RecordSaved,
    RunStarted,
    StepFinished,
    StepStarted,
    TargetStarted,
    UndoStarted,
    Verified,
)
from console.schema.plan import PlanFile
from console.secrets import Redactor
from tests.fakes import DROPIN, FRAGMENT, RUN, UNIT, FakeRemote, context, ok, sha256, state, target
from tests.runner.job import AFTER, FILE, RESTART, job

NAME = "node7/chat"
SECOND_BEFORE, SECOND_AFTER = "[Service]\nEnvironment=A=1\n", "[Service]\nEnvironment=A=2\n"
SECOND = FILE.model_copy(
    update={
        "id": "c4",
        "path": DROPIN,
        "real_path": DROPIN,
        "sha256_before": sha256(SECOND_BEFORE.encode()),
        "sha256_after": sha256(SECOND_AFTER.encode()),
    }
)


def say(change: FileChange | Any) -> dict[str, Any]:
    return {"target": NAME, "change": change, "step": change.step, "kind": change.kind}


async def closed(
    folder: Path, host: FakeRemote, monkeypatch: pytest.MonkeyPatch, *events: Event
) -> tuple[list[Event], tuple[str, ...], Mapping[str, str]]:
    """What `recover` adds to a log of these events, its notes and the outcomes."""
    run = context(folder)
    run.directory.write_plan(
        PlanFile(console_version="0", runbook="x", plans=(job(FILE, RESTART, SECOND),)), Redactor()
    )
    for event in (
        RunStarted(runbook="x", targets=(NAME,)),
        TargetStarted(target=NAME, unit="chat.service", engine="sglang"),
        *events,
    ):
        run.log.append(event)
    written = run.log.seq
    run.log.close()
    run.directory.release()

    async def connect(*_words: Any, **_more: Any) -> Reader:
        return host

    monkeypatch.setattr(recovering, "connect_reader", connect)
    done = await recover(run.directory, environment={}, redactor=Redactor())
    added = [event for event in read_events(run.directory.events_path) if event.seq > written]
    return added, done.notes, done.outcomes


def host_with(first: str = UNIT, second: str = SECOND_BEFORE, **more: Any) -> FakeRemote:
    host = FakeRemote({FRAGMENT: first.encode(), DROPIN: second.encode()}, **more)
    host.target = target()
    return host


STARTED = StepStarted(target=NAME, step="set", uses="unit.set", index=1, of=3)


async def test_a_target_that_was_only_planned_leaves_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added, _, outcomes = await closed(tmp_path, host_with(), monkeypatch)
    assert outcomes == {NAME: "not-started"}
    assert not [event for event in added if isinstance(event, RecordSaved)]


async def test_what_the_dead_process_sent_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = host_with()
    names: list[str] = []

    def running(name: str) -> Any:
        names.append(name)
        if len(names) == 3:
            host.files[FRAGMENT] = AFTER.encode()  # now the script has done what it was sent for
        return ok(running="77\n" if len(names) < 3 else "")

    host.answers["look_running.sh"] = running
    added, _, _ = await closed(tmp_path, host, monkeypatch, STARTED, ChangeIntended(**say(FILE)))
    assert set(names) == {f"console-{RUN}-"}
    assert [type(event) for event in added if isinstance(event, ChangeMade | ChangeUndone)] == [ChangeMade]


async def test_what_goes_on_for_too_long_stays_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = f'held=yes\n{{"run": "{RUN}"}}'
    host = host_with(answers={"look_lock.sh": ok(lock=lock)})
    _, notes, outcomes = await closed(tmp_path, host, monkeypatch, STARTED, ChangeIntended(**say(FILE)))
    assert outcomes == {NAME: "unknown"}
    assert "still holds the lock" in notes[0]


async def test_the_lock_of_another_run_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = host_with(answers={"look_lock.sh": ok(lock='held=yes\n{"run": "R2"}')})
    _, _, outcomes = await closed(tmp_path, host, monkeypatch, STARTED, ChangeIntended(**say(FILE)))
    assert outcomes == {NAME: "failed-unchanged"}


async def test_each_file_of_an_unfinished_undo_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = host_with(AFTER, SECOND_BEFORE)
    failed = StepFinished(target=NAME, step="verify", uses="service.verify", outcome="failed")
    added, notes, outcomes = await closed(
        tmp_path,
        host,
        monkeypatch,
        STARTED,
        *(kind(**say(change)) for change in (FILE, SECOND) for kind in (ChangeIntended, ChangeMade)),
        failed,
        UndoStarted(target=NAME),
        ChangeUndoing(**say(SECOND)),
    )
    assert notes == (f"{NAME}: {FRAGMENT} is as the run left it", f"{NAME}: {DROPIN} is as before the run")
    assert [event.change.id for event in added if isinstance(event, ChangeUndone)] == ["c4"]
    assert outcomes == {NAME: "rollback-failed"}


async def test_a_restart_on_the_way_back_is_told_from_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = (ChangeIntended(**say(RESTART)), ChangeMade(**say(RESTART)), UndoStarted(target=NAME))
    undoing = ChangeUndoing(before={"invocation": "2" * 32}, **say(RESTART))
    for folder, invocation, kind in (("a", "2" * 32, ChangeMade), ("b", "3" * 32, ChangeUndone)):
        host = host_with(unit=state(invocation_id=invocation))
        added, _, _ = await closed(tmp_path / folder, host, monkeypatch, STARTED, *made, undoing)
        assert [type(event) for event in added if isinstance(event, ChangeMade | ChangeUndone)] == [kind]


PROVEN = (
    STARTED,
    GuardChanged(target=NAME, state="armed", run=RUN),
    *(kind(**say(change)) for change in (FILE, RESTART) for kind in (ChangeIntended, ChangeMade)),
    StepStarted(target=NAME, step="verify", uses="service.verify", index=2, of=3),
    Verified(target=NAME),
)


async def test_killed_between_the_proof_and_its_end_the_guard_is_called_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = host_with(AFTER)
    added, _, outcomes = await closed(tmp_path, host, monkeypatch, *PROVEN)
    assert outcomes == {NAME: "verified-incomplete"}
    assert [event.state for event in added if isinstance(event, GuardChanged)] == ["disarmed"]
    assert [script for script in host.scripts() if script.startswith("act_")] == [
        "act_ledger_settle.sh",
        "act_guard_off.sh",
    ]
    assert [hold.released for hold in host.holds] == [1]


async def test_no_room_to_say_so_keeps_no_guard_armed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = host_with(AFTER, answers={"act_ledger_settle.sh": Output(1, stderr=b"tee: Disk quota exceeded")})
    added, notes, _ = await closed(tmp_path, host, monkeypatch, *PROVEN)
    assert [event.state for event in added if isinstance(event, GuardChanged)] == ["disarmed"]
    assert "Disk quota exceeded" in "; ".join(notes)


async def test_killed_before_the_proof_the_guard_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = host_with(AFTER)
    added, _, outcomes = await closed(tmp_path, host, monkeypatch, *PROVEN[:-1])
    assert outcomes == {NAME: "applied-unverified"}
    assert not [event for event in added if isinstance(event, GuardChanged)]
    assert not host.holds
