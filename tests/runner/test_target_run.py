"""One target's steps: what half happened is not told as nothing, and a person's answer is one target's own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

import pytest

from console.errors import NotMeasuredError, RefusedError
from console.runner import prepare
from console.runner.ask import Question
from console.runs.state import RunState
from console.schema.events import ChangeMade, StepFinished
from console.schema.outcome import Outcome
from console.steps.base import Step, StepIO, StepResult
from console.steps.registry import LOADED
from tests.fakes import Told, context, target_run
from tests.runner.job import FILE, RELOAD, RESTART, Host, Looks, carried_out, job, raises, step

MAIN = (FILE, RELOAD, RESTART, "service.wait_ready", "service.verify")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    looks = Looks()
    looks.install(monkeypatch)
    return looks


async def test_all_of_it(tmp_path: Path, looks: Looks) -> None:
    _, state, told = await carried_out(context(tmp_path), Host(), job(*MAIN))
    assert state.outcome("node7/chat") is Outcome.VERIFIED
    assert [event.change.id for event in told.of(ChangeMade)] == ["c1", "c2", "c3"]


async def test_a_bug_in_a_step_is_an_end_and_no_exception(tmp_path: Path, looks: Looks) -> None:
    looks.wait = [raises(ZeroDivisionError("by zero"))]
    _, state, told = await carried_out(context(tmp_path), Host(), job(*MAIN))
    wait = next(event for event in told.of(StepFinished) if event.step == "wait_ready")
    assert (wait.outcome, wait.error) == ("failed", {"kind": "Internal", "exit_code": 1})
    assert state.outcome("node7/chat") is Outcome.ROLLED_BACK


async def test_a_bug_in_what_follows_an_abort_is_an_end_and_no_exception(
    tmp_path: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_of = context(tmp_path, terminal=True)

    async def broken(_question: Question) -> str:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(run_of.desk, "put", broken)
    looks.wait = [lambda _io: run_of.abort.request("SIGINT")]
    _, state, told = await carried_out(run_of, Host(), job(*MAIN))
    assert told.of(StepFinished)[-1].error == {"kind": "Internal", "exit_code": 1}
    assert state.outcome("node7/chat") is Outcome.APPLIED_UNVERIFIED


async def test_a_target_that_was_only_planned_has_not_begun(tmp_path: Path, looks: Looks) -> None:
    folded = RunState()
    run_of = context(tmp_path)
    run_of.log.subscribe(folded.apply)
    assert await prepare.prepare(target_run(run_of, Host(), job(*MAIN)))
    assert (folded.target("node7/chat").begun, folded.outcome("node7/chat")) == (False, Outcome.NOT_STARTED)


async def test_a_target_refused_at_planning_has_begun(tmp_path: Path, looks: Looks) -> None:
    folded = RunState()
    run_of = context(tmp_path)
    run_of.log.subscribe(folded.apply)
    run = target_run(run_of, Host(answers={"look_facts.sh": RefusedError("no")}), job(*MAIN))
    assert not await prepare.prepare(run)
    assert folded.outcome("node7/chat") is Outcome.FAILED_UNCHANGED


async def test_a_command_whose_secret_was_masked_where_it_was_kept_is_refused(tmp_path: Path, looks: Looks) -> None:
    looking = step("host.command", fields={"command": "curl -H 'Authorization: ***' localhost", "mutates": False})
    host, told = Host(), Told()
    run_of = context(tmp_path)
    run_of.log.subscribe(told)
    run = target_run(run_of, host, job().model_copy(update={"steps": (looking,)}))
    assert not await prepare.prepare(run)
    assert "masked where it was kept" in told.of(StepFinished)[-1].message
    assert "look_command.sh" not in host.scripts()


async def test_keep_waiting_is_said_for_who_was_asked_and_who_comes_later(tmp_path: Path, looks: Looks) -> None:
    run_of = context(tmp_path)
    first = target_run(run_of, Host(), job(*MAIN))
    beside = target_run(run_of, Host(), job(*MAIN))
    later = target_run(run_of, Host(), job(*MAIN))
    for run in (first, beside):
        run.stop.begin()
    run_of.abort.request("SIGINT")
    first.stop.keep_on()
    later.stop.begin()
    assert (first.stop.requested, beside.stop.requested, later.stop.requested) == (False, True, False)


async def test_a_rollback_of_one_target_takes_no_stop_from_another(tmp_path: Path, looks: Looks) -> None:
    run_of = context(tmp_path)
    beside = target_run(run_of, Host(), job(*MAIN))
    run_of.abort.on_request = lambda *_said: None

    def stop(_io: StepIO) -> None:
        run_of.abort.request("SIGINT", "rollback")

    looks.wait = [stop]
    _, state, _ = await carried_out(run_of, Host(), job(*MAIN))
    await asyncio.sleep(0)
    assert state.outcome("node7/chat") is Outcome.ROLLED_BACK
    assert beside.stop.requested


def measuring(monkeypatch: pytest.MonkeyPatch, result: StepResult | Exception) -> None:
    class Decode(Step):
        uses: ClassVar[str] = "measure.decode"
        looks: ClassVar[bool] = True

        async def run(self, io: StepIO) -> StepResult:
            if isinstance(result, Exception):
                raise result
            return result

    monkeypatch.setitem(LOADED, "measure.decode", Decode)


async def test_a_server_too_busy_to_be_measured_does_not_make_the_change_less_proven(
    tmp_path: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    measuring(monkeypatch, StepResult("refused", "server busy"))
    _, state, told = await carried_out(context(tmp_path), Host(), job(*MAIN, "measure.decode"))
    assert told.of(StepFinished)[-1].outcome == "refused"
    assert state.outcome("node7/chat") is Outcome.VERIFIED


async def test_an_engine_that_dies_under_a_measurement_is_told_and_nothing_is_put_back(
    tmp_path: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    measuring(monkeypatch, NotMeasuredError("the engine does not answer"))
    run, state, _ = await carried_out(context(tmp_path), Host(), job(*MAIN, "measure.decode"))
    assert state.outcome("node7/chat") is Outcome.VERIFIED_INCOMPLETE
    assert [change.id for change in run.made] == ["c1", "c2", "c3"]
