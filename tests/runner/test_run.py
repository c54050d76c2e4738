"""A whole run says how it ended, whatever one of its targets, the disk or a bug of ours does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from console.analysis.diagnosis.group import Replica
from console.errors import LockHeldError, NotServedError, StateError
from console.results.repository import Repository
from console.runner import finish, run
from console.runner.context import RunContext
from console.runner.target_run import TargetRun
from console.runs.state import RunState
from console.schema.events import (
    LockChanged,
    LogLine,
    QuestionAsked,
    RecordSaved,
    RunFinished,
    TargetFinished,
    Verified,
    WaveFinished,
    WaveStarted,
)
from console.schema.runbook import parse_runbook
from console.steps.base import Step, StepIO, StepResult
from console.steps.registry import LOADED
from tests.fakes import Told, context, target, target_run
from tests.runner.job import FILE, RELOAD, RESTART, Host, Looks, job, raises

MAIN = (FILE, RELOAD, RESTART, "service.wait_ready", "service.verify")
TABLE: dict[str, Any] = {"schema": 1, "name": "extend-context", "step": [{"uses": "service.restart"}]}


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    looks = Looks()
    looks.install(monkeypatch)
    return looks


class Fleet:
    """Targets of one run; `told` hears all of it."""

    def __init__(self, folder: Path, *names: str, **options: Any) -> None:
        self.told, self.state = Told(), RunState()
        self.context: RunContext = context(folder, self.told, **options)
        self.context.log.subscribe(self.state.apply)
        self.hosts = {name: Host() for name in names}
        self.runs = [self._run(name) for name in names]

    def _run(self, name: str) -> TargetRun:
        at = target().model_copy(update={"host_name": name})
        host = self.hosts[name]
        host.target = at
        return target_run(self.context, host, job(*MAIN, target=at), at)

    async def go(
        self,
        *,
        at_once: bool = True,
        more: dict[str, Any] | None = None,
        keep_plan: Any = lambda _runs: None,
        repository: Repository | None = None,
    ) -> run.RunResult:
        runbook = parse_runbook("", TABLE | ({"waves": ["100%"]} if at_once else {}) | (more or {}), "b.toml")
        return await run.execute(self.context, self.state, runbook, self.runs, {}, repository, keep_plan)

    def finished(self) -> RunFinished:
        (event,) = self.told.of(RunFinished)
        assert self.told.events[-1] is event
        return event


async def test_what_one_target_raises_ends_no_other(
    tmp_path: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(tmp_path, "n1", "n2")
    whole = finish.finish

    async def broken(of: TargetRun, *more: Any) -> Any:
        if of.target.host_name == "n1":
            raise ZeroDivisionError("by zero")
        return await whole(of, *more)

    monkeypatch.setattr(finish, "finish", broken)
    result = await fleet.go()
    assert fleet.finished().outcomes == {"n1/chat": "verified", "n2/chat": "verified"}
    assert "ZeroDivisionError" in fleet.finished().message
    assert [event.target for event in fleet.told.of(RecordSaved)] == ["n2/chat"]
    assert result.exit_code == 1


async def test_a_record_that_cannot_be_made_frees_the_host_all_the_same(
    tmp_path: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_more: Any) -> Any:
        raise KeyError("facts")

    monkeypatch.setattr("console.runner.keep.build_record", broken)
    fleet = Fleet(tmp_path, "n1")
    await fleet.go()
    assert "the record could not be kept" in fleet.finished().message
    assert (fleet.hosts["n1"].holds[-1].released, fleet.hosts["n1"].closed) == (1, 1)


async def test_results_that_cannot_be_used_are_told_before_anybody_agrees(tmp_path: Path, looks: Looks) -> None:
    taken = tmp_path / "results"
    taken.mkdir()
    (taken / "notes.txt").write_text("of somebody else")
    fleet = Fleet(tmp_path, "n1")
    result = await fleet.go(repository=Repository(taken))
    kinds = [type(event) for event in fleet.told.events]
    (said, *_) = fleet.told.of(LogLine)
    assert "saved, not committed" in said.text
    assert "is not a git repository and not empty" in said.text
    assert f"git init {taken}" in said.text
    assert kinds.index(LogLine) < kinds.index(LockChanged)
    assert result.outcomes == {"n1/chat": "verified"}
    assert [path.name for path in taken.iterdir()] == ["notes.txt"]


async def test_a_plan_that_cannot_be_kept_changes_nothing_and_is_said(tmp_path: Path, looks: Looks) -> None:
    fleet = Fleet(tmp_path, "n1")

    def full(_runs: Sequence[TargetRun]) -> None:
        raise StateError("cannot write: No space left on device")

    result = await fleet.go(keep_plan=full)
    assert "No space left" in fleet.finished().message
    assert result.exit_code == 1
    assert "act_replace.sh" not in fleet.hosts["n1"].scripts()
    assert fleet.hosts["n1"].closed == 1


async def test_targets_whose_turn_never_came_are_not_started_for_every_reader(tmp_path: Path, looks: Looks) -> None:
    looks.verify = [raises(NotServedError("no"))]
    fleet = Fleet(tmp_path, "n1", "n2")
    result = await fleet.go(at_once=False)
    assert result.outcomes == {"n1/chat": "rolled-back", "n2/chat": "not-started"}
    assert fleet.state.outcome("n2/chat").value == "not-started"
    assert [event.target for event in fleet.told.of(TargetFinished)] == ["n1/chat"]
    assert [event.target for event in fleet.told.of(RecordSaved)] == ["n1/chat"]


async def test_a_stop_of_a_wave_stops_every_target_of_it(tmp_path: Path, looks: Looks) -> None:
    fleet = Fleet(tmp_path, "n1", "n2")

    def stop(_io: object) -> None:
        if not fleet.context.abort.count:
            fleet.context.abort.request("SIGINT", "rollback")

    looks.wait = [stop]
    result = await fleet.go()
    assert set(result.outcomes.values()) == {"rolled-back"}


def failing(fleet: Fleet, *names: str) -> None:
    for name in names:
        fleet.hosts[name].answers["act_lock.sh"] = LockHeldError("locked by lee, run R2")


async def test_targets_tell_each_other_and_one_that_failed_is_not_waited_for(
    tmp_path: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: dict[str, set[str]] = {}

    class Telling(Step):
        uses: ClassVar[str] = "service.verify"
        looks: ClassVar[bool] = True
        probe: str = "auto"
        require: str = "serve"

        async def run(self, io: StepIO) -> StepResult:
            assert io.together is not None
            heard[io.plan.target.name] = set(await io.together.others(io.plan.target.name, Replica()))
            io.emit(Verified(target=io.plan.target.name, invocation_id=io.invocation))
            return StepResult("ok", "served")

    monkeypatch.setitem(LOADED, "service.verify", Telling)
    fleet = Fleet(tmp_path, "n1", "n2", "n3")
    failing(fleet, "n3")
    await fleet.go()
    assert heard == {"n1/chat": {"n1/chat", "n2/chat"}, "n2/chat": {"n1/chat", "n2/chat"}}


async def test_a_canary_that_fails_leaves_every_other_untouched(tmp_path: Path, looks: Looks) -> None:
    names = [f"n{number}" for number in range(1, 13)]
    fleet = Fleet(tmp_path, *names)
    failing(fleet, "n1")
    result = await fleet.go(more={"waves": [1, "25%", "100%"]})
    outcomes = fleet.finished().outcomes
    assert list(outcomes.values()).count("not-started") == 11
    assert result.exit_code == 6
    assert [(event.index, event.targets) for event in fleet.told.of(WaveStarted)] == [(1, ("n1/chat",))]


async def test_the_stop_rule_counts_over_all_waves(tmp_path: Path, looks: Looks) -> None:
    """Two may fail: the second of them, in the third wave, is the last that is begun after it was known."""
    names = [f"n{number}" for number in range(1, 9)]
    fleet = Fleet(tmp_path, *names)
    failing(fleet, "n2", "n4")
    await fleet.go(more={"waves": [1, 2, 1], "stop_after": 2})
    outcomes = fleet.finished().outcomes
    begun = [name for name, outcome in outcomes.items() if outcome != "not-started"]
    assert begun == ["n1/chat", "n2/chat", "n3/chat", "n4/chat"]
    assert [event.verdict for event in fleet.told.of(WaveFinished)] == [
        "go on: 1 of 1 begun",
        "go on: 2 of 2 begun, 1 not well so far",
        "stop: 1 of 1 begun, 2 not well so far",
    ]


async def test_between_waves_a_person_may_be_asked_and_silence_stops(tmp_path: Path, looks: Looks) -> None:
    fleet = Fleet(tmp_path, "n1", "n2")
    await fleet.go(more={"waves": [1], "between_waves": "ask"})
    assert fleet.finished().outcomes == {"n1/chat": "verified", "n2/chat": "not-started"}
    (asked,) = fleet.told.of(QuestionAsked)
    assert (asked.question, asked.default) == ("after-wave-1", "stop")
