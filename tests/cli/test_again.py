"""Which runs of this machine may be gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli import again
from console.errors import StateError
from console.schema.change import BalancerChange, FileChange
from console.schema.events import (
    ChangeIntended,
    ChangeMade,
    Event,
    RunFinished,
    RunStarted,
    StepStarted,
    TargetFinished,
    TargetStarted,
    Verified,
)
from tests.fakes import RUN, context
from tests.runner.job import FILE

NAME = "node7/chat"
OUT = BalancerChange(id="c0", step="out", way="out", group="k26", member=NAME, out="lbctl out", back="lbctl in")
INCOMPLETE = (
    TargetFinished(target=NAME, outcome="verified-incomplete", exit_code=10),
    RunFinished(exit_code=10, outcomes={NAME: "verified-incomplete"}),
)


def resumed(folder: Path, monkeypatch: pytest.MonkeyPatch, *changes: BalancerChange) -> str:
    """The run that a resume goes on with; it is proven, ended by itself, and made these changes and its edit."""
    run = context(folder)
    made: list[Event] = []
    known: tuple[BalancerChange | FileChange, ...] = (*changes, FILE)
    for change in known:
        say = {"target": NAME, "change": change, "step": change.step, "kind": change.kind}
        made += [ChangeIntended.model_validate(say), ChangeMade.model_validate(say)]
    started = StepStarted(target=NAME, step="set", uses="unit.set", index=1, of=3)
    begun = (RunStarted(runbook="x", targets=(NAME,)), TargetStarted(target=NAME, unit="chat.service", engine="sglang"))
    for event in (*begun, started, *made, Verified(target=NAME), *INCOMPLETE):
        run.log.append(event)
    run.log.close()
    run.directory.release()
    monkeypatch.setattr(again, "find_run", lambda _base, _name: run.directory)
    monkeypatch.setattr(again, "_past", lambda directory, _state: directory.run_id)
    return str(again.of_this_machine(RUN, "resume"))


def test_what_ended_by_itself_is_planned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StateError, match="has ended: node7/chat verified-incomplete"):
        resumed(tmp_path, monkeypatch)


def test_a_target_that_was_left_out_of_its_balancer_is_put_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resumed(tmp_path, monkeypatch, OUT) == RUN
