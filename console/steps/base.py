"""What a step is: a value that proposes changes at planning, or looks at a host when its turn comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from console.clock import Clock
from console.engines.base import Engine
from console.facts.watch import Watch
from console.remote.session import Reader
from console.schema.cells import Cell
from console.schema.change import BalancerChange, CommandChange, ReloadChange, RestartChange
from console.schema.events import Event
from console.schema.facts import Facts
from console.schema.group import GroupSeen
from console.schema.hosts import Target
from console.schema.loads import Level
from console.schema.outcome import StepOutcome
from console.schema.plan import OnAbort, Plan, PlannedStep
from console.settings.edit import Edit
from console.steps.together import Together
from console.units.effective import EffectiveUnit


@dataclass(frozen=True)
class Look:
    """What a step may know at planning: everything here was read, nothing can be written.

    `unit` is the unit as the steps before this one leave it; `restart_due` and `reload_due` say what they made needed.
    """

    target: Target
    facts: Facts
    engine: Engine
    unit: EffectiveUnit
    step_id: str
    change_id: str
    timeout_s: float | None = None
    reload_due: bool = False
    restart_due: bool = False
    on_warning: Callable[[str], None] = lambda _text: None
    groups: tuple[GroupSeen, ...] = ()  # that the target is a member of
    filled: Callable[[str], str] = lambda text: text  # a text of the inventory with its references replaced
    on_blocker: Callable[[str], None] = lambda _text: None  # why a restart would not come back


@dataclass(frozen=True)
class Skip:
    """The step will not run; the plan says why."""

    reason: str


Proposal = Edit | ReloadChange | RestartChange | CommandChange | BalancerChange | Skip


@dataclass(frozen=True)
class StepResult:
    """How a looking step ended. It never says ok for what it could not see."""

    outcome: StepOutcome
    message: str


@dataclass
class StepIO:
    """What a looking step is given when its turn comes: a host it can only read, and where to say things."""

    reader: Reader
    engine: Engine
    plan: Plan
    step: PlannedStep
    clock: Clock
    emit: Callable[[Event], object]
    before: Facts
    request_id: str
    invocation_before: str = ""
    nodes_before: Mapping[str, str] = field(default_factory=dict)  # the same of the other places of its engine
    restarted: bool = False
    expected: dict[str, str] = field(default_factory=dict)  # setting → what must be served now
    old_limit_tokens: int | None = None
    seen: Watch | None = None  # the last state a wait saw
    invocation: str = ""  # the start that a wait followed
    extended_s: Callable[[], float] = lambda: 0.0
    regained: Callable[[], Awaitable[None]] | None = None  # called when a lost connection is back
    ask: Callable[[str, tuple[str, ...], str], Awaitable[str]] | None = None  # text, answers, the one of silence
    later: Callable[[Coroutine[Any, Any, Any]], None] = lambda work: work.close()  # still to be done after a stop
    cells: list[Cell] = field(default_factory=list)  # measured so far in this run
    loads: list[Level] = field(default_factory=list)  # the same of loads and replays
    loads_before: list[Level] = field(default_factory=list)  # those of them that came before this run's restart
    kept: dict[str, str] = field(default_factory=dict)  # what a step keeps for a later one: answers from before
    results_path: Path | None = None  # the results repository, where there is one
    together: Together | None = None  # with the other targets of this run


class Step(BaseModel):
    """Base of the step kinds: the keys of its own [[step]] table, checked and rendered."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uses: ClassVar[str]
    looks: ClassVar[bool] = False  # has run() instead of making changes
    changes: ClassVar[bool] = False  # may make some
    on_abort: ClassVar[OnAbort] = "finishes this action"
    summary: ClassVar[str] = ""

    def title(self, target: Target) -> str:
        """One line for people, in the plan and while it runs."""
        return self.summary

    def plan(self, look: Look) -> Iterator[Proposal]:
        """The changes this step asks for, from values alone. Raises RefusedError for what can never go well."""
        return iter(())

    async def run(self, io: StepIO) -> StepResult:
        """Look at the host and say what is so. Only for kinds with `looks`."""
        raise NotImplementedError(self.uses)

    def own_fields(self) -> dict[str, Any]:
        return self.model_dump(mode="json")
