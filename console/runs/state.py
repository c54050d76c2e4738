"""The one fold of events: what happened so far, for every reader (views, records, listings, the runner itself)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from console.runs.target_state import TargetState
from console.schema.events import (
    AbortRequested,
    Event,
    QuestionAsked,
    RunFinished,
    RunStarted,
    WaveFinished,
    WaveStarted,
)
from console.schema.outcome import Ending, Outcome, worst


@dataclass
class RunState:
    """A whole run so far. `apply` takes events in their order; unknown ones change nothing."""

    run: str = ""
    started: RunStarted | None = None
    finished: RunFinished | None = None
    targets: dict[str, TargetState] = field(default_factory=dict)
    waves: dict[int, WaveStarted] = field(default_factory=dict)
    verdicts: dict[int, WaveFinished] = field(default_factory=dict)
    aborts: list[AbortRequested] = field(default_factory=list)
    last_seq: int = 0
    last_at: str = ""

    def apply(self, event: Event) -> None:
        self.run = self.run or event.run
        self.last_seq, self.last_at = event.seq, event.ts
        match event:
            case RunStarted():
                self.started = event
            case RunFinished():
                self.finished = event
            case WaveStarted():
                self.waves[event.index] = event
            case WaveFinished():
                self.verdicts[event.index] = event
            case AbortRequested():
                self.aborts.append(event)
            case _:
                pass
        if event.target:
            self.target(event.target).apply(event)

    def target(self, name: str) -> TargetState:
        """The state of a target, made when first named."""
        if name not in self.targets:
            self.targets[name] = TargetState(name, purpose=self.started.purpose if self.started else "run")
        return self.targets[name]

    def ending(self, target: str) -> Ending:
        """What schema.outcome decides on for a target; not begun where no event names it."""
        state = self.targets.get(target)
        return state.ending() if state else Ending(begun=False)

    def outcome(self, target: str) -> Outcome:
        state = self.targets.get(target)
        return state.outcome if state else Outcome.NOT_STARTED

    def orphan(self, alive: bool) -> bool:
        """Whether its process is gone before the run was finished."""
        return not alive and self.finished is None

    @property
    def question(self) -> QuestionAsked | None:
        """The question that waits for an answer, of whichever target."""
        return next((target.question for target in self.targets.values() if target.question), None)

    @property
    def parent(self) -> str:
        return self.started.parent if self.started else ""

    @property
    def exit_code(self) -> int:
        """The run's own, or the worst of its targets' so far."""
        if self.finished is not None:
            return self.finished.exit_code
        return worst(target.exit_code for target in self.targets.values())

    @property
    def records(self) -> dict[str, str]:
        return {name: target.record.path for name, target in self.targets.items() if target.record}

    @property
    def commits(self) -> dict[str, str]:
        return {
            name: target.committed.sha
            for name, target in self.targets.items()
            if target.committed and target.committed.sha
        }


def fold(events: Iterable[Event]) -> RunState:
    """The state after these events."""
    state = RunState()
    for event in events:
        state.apply(event)
    return state
