"""One target's run: its steps one after the other, and what follows when one does not go well."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from console.changes import kinds
from console.changes.base import Made
from console.engines.base import Engine
from console.errors import (
    AbortedError,
    ConnectError,
    ConnectionLostError,
    ConsoleError,
    InternalError,
    LockHeldError,
    RefusedError,
    RestartedByOthersError,
    StalePlanError,
    StepFailedError,
    SudoError,
    UnreachableError,
)
from console.facts.watch import Watch
from console.remote.session import Reader, Remote
from console.runner import describe, front_door, hold, host_cause, undo
from console.runner.abort import shielded
from console.runner.ask import Question
from console.runner.carry import carry, fate
from console.runner.context import RunContext
from console.runner.guard import Guard
from console.runner.host_lock import HostLock
from console.runner.ledger import Ledger
from console.runner.lock import UnitLock
from console.runner.stop_command import stoppable
from console.runs.target_state import NOT_MADE
from console.schema.cells import Cell
from console.schema.change import BalancerChange, Change, CommandChange, FileChange, RestartChange
from console.schema.events import (
    CellMeasured,
    ChangeIntended,
    ChangeMade,
    ChangeUndone,
    Event,
    LevelMeasured,
    StepFinished,
    StepProgress,
    StepStarted,
)
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.schema.loads import Level
from console.schema.outcome import StepOutcome
from console.schema.plan import Plan, PlannedStep
from console.steps.base import StepIO
from console.steps.registry import STEP_KINDS
from console.untrusted import one_line


class TargetRun:
    """Carries out one plan on one target. `open_reader` connects; `planner` turns facts into a plan."""

    def __init__(
        self,
        context: RunContext,
        target: Target,
        engine: Engine,
        open_reader: Callable[[], Awaitable[Reader]],
        planner: Callable[[Facts, Reader], Awaitable[Plan]],
    ) -> None:
        self.context = context
        self.target = target
        self.engine = engine
        self.open_reader = open_reader
        self.planner = planner
        self.reader: Reader | None = None
        self.facts: Facts | None = None
        self.plan: Plan | None = None
        self.lock: UnitLock | None = None
        self.host_lock = HostLock()
        self.ledger: Ledger | None = None
        self.guard: Guard | None = None
        self.sent: list[Change] = []  # asked of the host, or about to be
        self.made: list[Change] = []
        self.moved: list[BalancerChange] = []  # out of its balancer or in, in the order of what was asked for
        self.restarted = False
        self.proven = False  # once: from then on nothing is rolled back
        self.let_go = False  # the lock was lost, and nobody looked since
        self.guard_fired = False  # the host put it back meanwhile, and this run only proves that
        self.invocation_before = ""
        self.nodes_before: dict[str, str] = {}
        self.invocation = ""
        self.seen: Watch | None = None
        self.started_at = context.clock.monotonic()
        self.message = ""
        self.step_aborted = False
        self.cells: list[Cell] = []
        self.loads: list[Level] = []
        self.loads_before: list[Level] = []
        self.kept: dict[str, str] = {}
        self.logging: list[asyncio.Task[Any]] = []
        self.stop = context.abort.of_target()

    # -- carry out -------------------------------------------------------------------------------------------------

    async def execute(self) -> None:
        """Every step in order. Never raises: what went wrong is in the events, and dealt with as the runbook says."""
        started = self.context.clock.monotonic()
        self.stop.begin()
        front_door.begin(self)
        try:
            self.stop.check()
            if self.planned().mutates() or self.context.options.purpose != "run":
                await shielded(hold.take(self))
        except ConnectionLostError as error:
            lost = UnreachableError(f"{error.message}; the service was not touched", where=error.where)
            self.phase("lock", "refused", str(lost), started, lost)
            return
        except ConsoleError as error:
            outcome: StepOutcome = "aborted" if isinstance(error, AbortedError) else "refused"
            self.phase("lock", outcome, str(error), started, error)
            return
        except Exception as error:  # noqa: BLE001 - a bug of ours ends in a record, too
            self.phase("lock", "failed", f"{type(error).__name__}: {error}", started, InternalError(str(error)))
            return
        try:
            await self._steps()
        except Exception as error:  # noqa: BLE001 - as above
            self.phase("run", "failed", f"{type(error).__name__}: {error}", started, InternalError(str(error)))

    async def _steps(self) -> None:
        steps = list(self.planned().steps)
        index = 0
        while index < len(steps):
            step = steps[index]
            try:
                self.stop.check()
                await self._step(step)
            except AbortedError:
                if await self._after_abort(step) == "wait":
                    self.stop.keep_on()
                    self.step_aborted = False
                    if any(isinstance(change, CommandChange) and change.id in step.changes for change in self.made):
                        stopped = StepFailedError("the command was stopped half-way, and is not run a second time")
                        await self._after_failure(step, stopped)
                        return
                    continue
                return
            except ConsoleError as error:
                await self._after_failure(step, error)
                return
            index += 1

    async def _step(self, step: PlannedStep) -> None:
        plan = self.planned()
        started = self.context.clock.monotonic()
        say = {"target": self.target.name, "step": step.id}
        if step.skipped or step.note:
            outcome: StepOutcome = "skipped" if step.skipped else "ok"
            self.context.emit(StepFinished(uses=step.uses, outcome=outcome, message=step.skipped or step.note, **say))
            return
        self.context.emit(
            StepStarted(
                uses=step.uses, index=step.index, of=len(plan.steps), title=step.title, on_abort=step.on_abort, **say
            )
        )
        try:
            if step.changes:
                outcome, message = await self._make_changes(step)
            else:
                outcome, message = await self._look(step)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            known = error if isinstance(error, ConsoleError) else InternalError(f"{type(error).__name__}: {error}")
            self._step_failed(step, known, started)
            if known is error:
                raise
            raise known from error
        self.context.emit(
            StepFinished(
                uses=step.uses,
                outcome=outcome,
                message=one_line(message, 500),
                duration_s=round(self.context.clock.monotonic() - started, 3),
                **say,
            )
        )
        # A server too busy to be measured is a finding, unless measuring was all there was to do.
        passed_over = outcome == "refused" and step.uses.startswith("measure.") and len(plan.steps) > 1
        if outcome in ("failed", "refused") and not passed_over:
            raise RefusedError(message, where=self.target.name)

    def _step_failed(self, step: PlannedStep, error: ConsoleError, started: float) -> None:
        outcome: StepOutcome = "failed"
        message = str(error)
        if isinstance(error, AbortedError):
            outcome, message = "aborted", error.hint or describe.standing(self.seen, self.target.service.unit)
            self.step_aborted = True
            self.message = message
        elif isinstance(error, ConnectionLostError):
            outcome = "unknown"
        self.context.emit(
            StepFinished(
                target=self.target.name,
                step=step.id,
                uses=step.uses,
                outcome=outcome,
                message=message,
                duration_s=round(self.context.clock.monotonic() - started, 3),
                error={"kind": error.kind, "exit_code": error.exit_code},
            )
        )

    async def _make_changes(self, step: PlannedStep) -> tuple[StepOutcome, str]:
        said = []
        changed = False
        for change_id in step.changes:
            change = self.planned().change(change_id)
            if isinstance(change, BalancerChange) and change.way == "out":
                await self.stop.race(self.context.doors.leave(change, partial(self._waits, step)))
            made = await (stoppable(self, change) if isinstance(change, CommandChange) else shielded(self.make(change)))
            said.append(made.message)
            changed = changed or not made.already
        return ("changed" if changed else "ok"), "; ".join(text for text in said if text)

    def _waits(self, step: PlannedStep, message: str) -> None:
        self.context.together.ends(self.target.name)  # who waits for the others must not be waited for by them
        self.context.emit(StepProgress(target=self.target.name, step=step.id, phase="waiting", message=message))

    async def make(self, change: Change) -> Made:
        """Intend, make, and say so; a dead connection is resolved by looking at the host, never by trying again."""
        remote = self._remote()
        if isinstance(change, RestartChange):
            self.invocation_before = change.invocation_before
        backup = self.ledger.folder if self.ledger and isinstance(change, FileChange) else ""
        say: dict[str, Any] = {"target": self.target.name, "step": change.step, "kind": change.kind, "backup": backup}
        self.context.emit(ChangeIntended(change=change, before=describe.before(change), **say))
        self.sent.append(change)
        if isinstance(change, BalancerChange) and change.way == "out":
            self.moved.append(change)  # also where it fails: it may be half out
        noting = remote.noting(
            one_line(f"run {self.context.run} {self.context.options.operator}: {change.summary}", 400)
        )
        try:
            made = await carry(self, change, lambda change, _remote, run: kinds.make(change, noting, run))
        except ConsoleError as error:
            # Nothing that was intended stays open when it is known what became of it.
            seen = await fate(self, change, error)
            if seen == "after":
                self.made.append(change)
                self.context.emit(ChangeMade(change=change, **say))
            elif seen != "unknown":
                del say["backup"]
                self.context.emit(ChangeUndone(change=change, how=NOT_MADE, **say))
            raise
        if isinstance(change, RestartChange):
            self.invocation_before = str(made.before.get("invocation") or change.invocation_before)
            self.nodes_before = dict(made.before.get("nodes") or {})
            self.restarted = True
        if isinstance(change, BalancerChange) and change.way == "in":
            self.moved.append(change)
            await self.context.doors.back(change)
        self.made.append(change)
        self.context.emit(ChangeMade(change=change, before=made.before, after=made.after, **say))
        if not noting.noted and not made.already:  # it was not made by a script on the host
            self.logging.append(asyncio.ensure_future(noting.act("act_log.sh", noting.note)))
        return made

    async def _look(self, step: PlannedStep) -> tuple[StepOutcome, str]:
        kind = STEP_KINDS[step.uses]
        if step.uses == "unit.backup" and self.ledger is not None and self.ledger.written:
            return "ok", f"in {self.ledger.folder} on the host"
        if not (kind.looks or step.uses == "host.command"):
            return "ok", describe.passed(step, self.seen_facts())
        io = self.io(step)
        try:
            result = await self.stop.race(kind.model_validate(dict(step.fields)).run(io))
        finally:
            self.seen = io.seen or self.seen
            self.invocation = io.invocation or self.invocation
        if step.uses == "service.verify" and result.outcome == "ok":
            self.proven = True
            if self.guard is not None:
                await shielded(self.guard.disarm())
        return result.outcome, result.message

    def io(self, step: PlannedStep, expected: dict[str, str] | None = None) -> StepIO:
        """What a looking step may see, as things stand now."""
        plan = self.planned()
        asked = {change.setting: change.after for change in (*plan.settings, *plan.unchanged)}
        wanted = {name: value for name, value in asked.items() if value is not None}
        assert self.reader is not None
        return StepIO(
            reader=self.reader,
            engine=self.engine,
            plan=plan,
            step=step,
            clock=self.reader.clock,
            emit=self.say,
            before=self.seen_facts(),
            request_id=f"console-{self.context.run}"[:40],
            invocation_before=self.invocation_before,
            nodes_before=self.nodes_before,
            restarted=self.restarted,
            expected=wanted if expected is None else expected,
            old_limit_tokens=plan.old_limit_tokens if expected is None else None,
            seen=self.seen,
            invocation=self.invocation,
            extended_s=lambda: self.context.extended_s,
            regained=self.regained,
            ask=partial(self._ask_in, step),
            later=self.later,
            results_path=self.context.results_path,
            together=self.context.together,
            cells=self.cells,
            loads=self.loads,
            loads_before=self.loads_before,
            kept=self.kept,
        )

    async def _ask_in(self, step: PlannedStep, text: str, choices: tuple[str, ...], default: str) -> str:
        question = Question(id=step.id, target=self.target.name, text=text, choices=choices, default=default)
        return await self.context.desk.put(question)

    def say(self, event: Event) -> Event:
        """What a step says; cells are kept for the steps after it."""
        if isinstance(event, CellMeasured):
            self.cells.append(event.cell)
        elif isinstance(event, LevelMeasured):
            self.loads.append(event.level)
            if not self.restarted:
                self.loads_before.append(event.level)
        return self.context.emit(event)

    def later(self, work: Coroutine[Any, Any, Any]) -> None:
        """What must still be done after a step was stopped; the connection is kept open for it for a moment."""
        self.logging.append(asyncio.ensure_future(work))

    async def regained(self) -> None:
        """The connection may be back: the lock died with the old one, so take it again before anything else."""
        await hold.regained(self)

    # -- when it does not go well ----------------------------------------------------------------------------------

    async def _after_abort(self, step: PlannedStep) -> str:
        """Leave, roll back or keep waiting; returns the choice. The step's own end is an event already."""
        if not front_door.touched(self) or self.proven:
            self._say_aborted(step)
            await front_door.bring_back(self)
            return "leave"
        await self.host_lock.release()  # nobody else waits for a person
        choice: str = self.stop.choice
        if not choice:
            choice = await self._ask_after_abort()
        if choice != "wait":
            self._say_aborted(step)
        if choice == "rollback":
            await undo.put_back(self, "stopped, and asked to roll back")
        return choice

    async def _ask_after_abort(self) -> str:
        options = self.context.options
        if options.on_abort != "auto":
            return options.on_abort
        if not options.terminal:
            return "leave" if self.restarted else "rollback"
        return await self.context.desk.put(
            Question(
                id="after-abort",
                target=self.target.name,
                text=describe.standing(self.seen, self.target.service.unit),
                choices=("leave", "rollback", "wait"),
                default="leave",
                prices=describe.prices(self.planned(), restarted=self.restarted),
            )
        )

    def _say_aborted(self, step: PlannedStep) -> None:
        """A stop that came between two steps has no step to carry it: give it one."""
        if self.step_aborted:
            return
        self.phase("stop", "aborted", f"stopped before step {step.index}", self.context.clock.monotonic(), None)

    async def _after_failure(self, step: PlannedStep, error: ConsoleError) -> None:
        self.message = error.message
        nothing_made = all(isinstance(change, BalancerChange) for change in self.made)
        # Over somebody else's start nothing is put back; on a host that lets us in no more nothing can be. Where sudo
        # refuses one command, the file may still be put back.
        lost = isinstance(error, ConnectError | ConnectionLostError) and not isinstance(error, SudoError)
        not_ours = lost or isinstance(error, RestartedByOthersError | LockHeldError)
        came_in = isinstance(error, StalePlanError | RestartedByOthersError | LockHeldError)
        if came_in and self.made and await undo.by_guard(self, error):
            return
        # What is proven serves, and is not put back; a gate is what asks whether it may stay all the same.
        stays = self.proven and not (step.uses.startswith("gate.") and step.on_failure == "rollback")
        if (stays or not front_door.touched(self)) and not not_ours:
            await front_door.bring_back(self)
        if nothing_made or stays or step.on_failure != "rollback":
            return
        if lost:
            undo.pending(self, error, self.context.clock.monotonic())
        if not_ours:
            return
        await undo.put_back(self, error.message, host_cause.remedy(error))

    # -- small things ----------------------------------------------------------------------------------------------

    def phase(self, name: str, outcome: StepOutcome, message: str, started: float, error: ConsoleError | None) -> None:
        """An end that belongs to no step of the runbook: planning, the question, the lock."""
        self.message = self.message or message
        self.context.emit(
            StepFinished(
                target=self.target.name,
                step=name,
                uses=name,
                outcome=outcome,
                message=message,
                duration_s=round(self.context.clock.monotonic() - started, 3),
                error={"kind": error.kind, "exit_code": error.exit_code} if error else None,
            )
        )

    def planned(self) -> Plan:
        assert self.plan is not None
        return self.plan

    def seen_facts(self) -> Facts:
        assert self.facts is not None
        return self.facts

    def _remote(self) -> Remote:
        assert self.lock is not None
        return self.lock.remote
