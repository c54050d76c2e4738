"""What a guard did while nobody was there is told as it is: what it leaves, too."""

from __future__ import annotations

from typing import Any

import pytest

from console.runner import guard_fired
from console.runs.target_state import ChangeState
from console.schema.events import ChangeUndone, Event, UndoFinished
from tests.fakes import RUN, FakeRemote
from tests.runner.job import FILE, RESTART, Host, command, job


@pytest.fixture(autouse=True)
def fired(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ledger(_reader: FakeRemote) -> list[dict[str, Any]]:
        return [{"run": RUN, "state": "guard"}]

    monkeypatch.setattr(guard_fired, "read_ledger", ledger)
    monkeypatch.setattr(guard_fired, "not_proven", lambda _plan, _facts: "")


async def told(*changes: ChangeState) -> list[Event]:
    said: list[Event] = []
    plan = job(*(change.change for change in changes))
    await guard_fired.told(RUN, plan, Host(), {change.change.id: change for change in changes}, said.append)
    return said


async def test_files_that_are_back_are_undone() -> None:
    said = await told(ChangeState(FILE, "set", "made"), ChangeState(RESTART, "restart", "made"))
    assert [event.change for event in said if isinstance(event, ChangeUndone)] == [FILE]
    (end,) = (event for event in said if isinstance(event, UndoFinished))
    assert end.proven


async def test_what_a_command_did_is_still_there() -> None:
    said = await told(ChangeState(FILE, "set", "made"), ChangeState(command("lbctl drain gpu1"), "k1", "made"))
    (end,) = (event for event in said if isinstance(event, UndoFinished))
    assert not end.proven
    assert "lbctl drain gpu1" in end.message


async def test_a_restart_that_was_under_way_is_no_open_question_after_the_guards_own() -> None:
    said = await told(ChangeState(FILE, "set", "made"), ChangeState(RESTART, "restart", "intended"))
    assert [event.change for event in said if isinstance(event, ChangeUndone)] == [FILE, RESTART]
