"""One target's run: look, plan, ask, lock, read again, ledger, change, prove; then what is owed in every case."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from console.changes.base import Made
from console.clock import stamp
from console.engines.base import Engine
from console.errors import (
    AbortedError,
    ConnectionLostError,
    ConsoleError,
    InternalError,
    LockHeldError,
    RefusedError,
    RestartedByOthersError,
    StalePlanError,
    UnreachableError,
)
from console.facts.collect import collect
from console.facts.watch import Watch
from console.planning import policy
from console.remote.files import read_file
from console.remote.session import Reader, Remote
from console.runner import candidate, describe, undo
from console.runner.abort import shielded
from console.runner.ask import Question
from console.runner.carry import carry, fate, reach
from console.runner.context import RunContext
from console.runner.ledger import Ledger
from console.runner.lock import UnitLock
from console.runs.target_state import NOT_MADE
from console.schema.change import Change, FileChange, RestartChange
from console.schema.events import (
    ChangeIntended,
    ChangeMade,
    ChangeUndone,
    FactsRead,
    StepFinished,
    StepStarted,
    TargetStarted,
)
from console.schema.facts import Facts
from console.schema.hosts import Target
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
        self.ledger: Ledger | None = None
        self.made: list[Change] = []
        self.live = False
        self.restarted = False
        self.proven = False
        self.invocation_before = ""
        self.invocation = ""
        self.seen: Watch | None = None
        self.started_at = context.clock.monotonic()
        self.message = ""
        self.step_aborted = False
        self.logging: list[asyncio.Task[Any]] = []

    # -- look and plan: nothing is written -------------------------------------------------------------------------

    async def prepare(self) -> bool:
        """Connect, collect facts, plan. False when the target refused; the refusal is an event then."""
        self.context.emit(
            TargetStarted(target=self.target.name, unit=self.target.service.unit, engine=self.target.service.engine)
        )
        started = self.context.clock.monotonic()
        try:
            await self.context.abort.race(self._prepare())
        except AbortedError as error:
            self._phase("plan", "aborted", error.message, started, error)
            return False
        except ConsoleError as error:
            self._phase("plan", "refused", str(error), started, error)
            return False
        except Exception as error:  # noqa: BLE001 - a bug of ours ends in a record, too
            self._phase("plan", "failed", f"{type(error).__name__}: {error}", started, InternalError(str(error)))
            return False
        return True

    async def _prepare(self) -> None:
        self.reader = await self.open_reader()
        self.facts = await collect(self.reader, self.engine)
        self.context.emit(FactsRead(target=self.target.name, when="plan", facts=describe.facts(self.facts)))
        policy.unlocked(self.facts, [self.context.options.parent])
        self.plan = await self.planner(self.facts, self.reader)
        for event in describe.plan_events(self.plan, self.facts, self.engine):
            self.context.emit(event)
        policy.permitted(self.plan, self.facts)
        policy.answerable(self.plan)
        policy.pending(self.plan, accept=self.context.options.accept_pending)

    async def confirm(self) -> bool:
        """Ask before the first change; not when nothing changes, and not with --yes."""
        plan, options = self._plan(), self.context.options
        if not plan.mutates() or (options.yes and not (plan.target.host.protected and not options.reason)):
            return True
        if not options.terminal and not plan.target.host.protected:
            return True  # policy.attended let it begin: the runbook says proceed
        text = plan.confirm or f"Change {plan.target.service.unit} on {plan.target.host_name}?"
        protected = plan.target.host.protected
        answer = await self.context.desk.put(
            Question(
                id="confirm",
                target=self.target.name,
                text=text,
                choices=("yes", "no"),
                default="no",
                typed=plan.target.host_name if protected else "",
            )
        )
        if answer == "yes":
            return True
        self._phase("confirm", "aborted", "the answer was no", self.context.clock.monotonic(), AbortedError("no"))
        return False

    # -- carry out -------------------------------------------------------------------------------------------------

    async def execute(self) -> None:
        """Every step in order. Never raises: what went wrong is in the events, and dealt with as the runbook says."""
        started = self.context.clock.monotonic()
        try:
            self.context.abort.check()
            if self._plan().mutates() or self._runs_commands() or self.context.options.purpose != "run":
                await shielded(self._take_hold())
        except ConnectionLostError as error:
            lost = UnreachableError(f"{error.message}; the service was not touched", where=error.where)
            self._phase("lock", "refused", str(lost), started, lost)
            return
        except ConsoleError as error:
            outcome: StepOutcome = "aborted" if isinstance(error, AbortedError) else "refused"
            self._phase("lock", outcome, str(error), started, error)
            return
        except Exception as error:  # noqa: BLE001 - a bug of ours ends in a record, too
            self._phase("lock", "failed", f"{type(error).__name__}: {error}", started, InternalError(str(error)))
            return
        await self._steps()

    def _runs_commands(self) -> bool:
        return any(step.uses == "host.command" and not step.skipped for step in self._plan().steps)

    async def _take_hold(self) -> None:
        """Lock, read the deciding files again, write the ledger. From here on the host knows of us."""
        plan = self._plan()
        assert self.reader is not None
        remote = self.reader.writer()
        self.lock = UnitLock(self.context, remote, plan.runbook)
        self.ledger = Ledger(self.context, remote, plan)
        await self.lock.take()
        try:
            await self._announce(remote, self.ledger)
        except (ConnectionLostError, UnreachableError, LockHeldError):
            if self.lock.held:
                raise
            # The connection died. All of this may be done twice: nothing is changed yet.
            await reach(self)
            await self._announce(remote, self.ledger)

    async def _announce(self, remote: Remote, ledger: Ledger) -> None:
        plan = self._plan()
        await self._read_again(remote)
        if plan.mutates():
            await ledger.write()
            await candidate.check(plan, self._facts(), remote, ledger.folder, self.context.run)

    async def _read_again(self, remote: Remote) -> None:
        """Refuse when a file that decides the unit is not as planned (8); nothing was written."""
        plan = self._plan()
        for path, digest in plan.deciding.items():
            now = await read_file(remote, path)
            if (now.sha256 if not now.missing else "") != digest:
                raise StalePlanError(
                    f"{path} changed since the plan was made: nothing was written",
                    where=self.target.name,
                    hint="plan again and look at the difference",
                )

    async def _steps(self) -> None:
        steps = list(self._plan().steps)
        index = 0
        while index < len(steps):
            step = steps[index]
            try:
                self.context.abort.check()
                await self._step(step)
            except AbortedError:
                if await self._after_abort(step) == "wait":
                    self.context.abort.withdraw()
                    self.step_aborted = False
                    continue
                return
            except ConsoleError as error:
                await self._after_failure(step, error)
                return
            index += 1

    async def _step(self, step: PlannedStep) -> None:
        plan = self._plan()
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
        if outcome in ("failed", "refused"):
            raise RefusedError(message, where=self.target.name)

    def _step_failed(self, step: PlannedStep, error: ConsoleError, started: float) -> None:
        outcome: StepOutcome = "failed"
        message = str(error)
        if isinstance(error, AbortedError):
            outcome, message = "aborted", describe.standing(self.seen, self.target.service.unit)
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
            made = await shielded(self.make(self._plan().change(change_id)))
            said.append(made.message)
            changed = changed or not made.already
        return ("changed" if changed else "ok"), "; ".join(text for text in said if text)

    async def make(self, change: Change) -> Made:
        """Intend, make, and say so; a dead connection is resolved by looking at the host, never by trying again."""
        remote = self._remote()
        if isinstance(change, RestartChange):
            self.invocation_before = change.invocation_before
        backup = self.ledger.folder if self.ledger and isinstance(change, FileChange) else ""
        say: dict[str, Any] = {"target": self.target.name, "step": change.step, "kind": change.kind, "backup": backup}
        self.context.emit(ChangeIntended(change=change, before=describe.before(change), **say))
        try:
            made = await carry(self, change)
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
            self.restarted = True
            self.live = any(isinstance(earlier, FileChange) for earlier in self.made)
        self.made.append(change)
        self.proven = False
        self.context.emit(ChangeMade(change=change, before=made.before, after=made.after, **say))
        text = f"run {self.context.run} {self.context.options.operator}: {change.summary}"
        self.logging.append(asyncio.ensure_future(remote.act("act_log.sh", one_line(text, 400))))
        return made

    async def _look(self, step: PlannedStep) -> tuple[StepOutcome, str]:
        kind = STEP_KINDS[step.uses]
        if step.uses == "unit.backup" and self.ledger is not None and self.ledger.written:
            return "ok", f"in {self.ledger.folder} on the host"
        if not (kind.looks or step.uses == "host.command"):
            return "ok", describe.passed(step, self._facts())
        io = self.io(step)
        try:
            result = await self.context.abort.race(kind.model_validate(dict(step.fields)).run(io))
        finally:
            self.seen = io.seen or self.seen
            self.invocation = io.invocation or self.invocation
        if step.uses == "service.verify" and result.outcome == "ok":
            self.proven = True
        return result.outcome, result.message

    def io(self, step: PlannedStep, expected: dict[str, str] | None = None) -> StepIO:
        """What a looking step may see, as things stand now."""
        plan = self._plan()
        asked = {change.setting: change.after for change in (*plan.settings, *plan.unchanged)}
        wanted = {name: value for name, value in asked.items() if value is not None}
        assert self.reader is not None
        return StepIO(
            reader=self.reader,
            engine=self.engine,
            plan=plan,
            step=step,
            clock=self.reader.clock,
            emit=self.context.emit,
            before=self._facts(),
            request_id=f"console-{self.context.run}"[:40],
            invocation_before=self.invocation_before,
            restarted=self.restarted,
            expected=wanted if expected is None else expected,
            old_limit_tokens=plan.old_limit_tokens if expected is None else None,
            seen=self.seen,
            invocation=self.invocation,
            extended_s=lambda: self.context.extended_s,
            regained=self.regained,
        )

    async def regained(self) -> None:
        """The connection is back: the lock died with the old one, so take it again before anything else."""
        if self.lock is not None:
            await self.lock.retake()

    # -- when it does not go well ----------------------------------------------------------------------------------

    async def _after_abort(self, step: PlannedStep) -> str:
        """Leave, roll back or keep waiting; returns the choice. The step's own end is an event already."""
        if not any(change.kind in ("file", "command", "restart") for change in self.made) or self.proven:
            self._say_aborted(step)
            return "leave"
        choice: str = self.context.abort.choice
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
                prices=describe.prices(self._plan(), restarted=self.restarted),
            )
        )

    def _say_aborted(self, step: PlannedStep) -> None:
        """A stop that came between two steps has no step to carry it: give it one."""
        if self.step_aborted:
            return
        self._phase("stop", "aborted", f"stopped before step {step.index}", self.context.clock.monotonic(), None)

    async def _after_failure(self, step: PlannedStep, error: ConsoleError) -> None:
        self.message = error.message
        nothing_made = not self.made
        # Over somebody else's start nothing is put back; on a host that does not answer nothing can be.
        not_ours = isinstance(error, RestartedByOthersError | ConnectionLostError | LockHeldError | UnreachableError)
        if nothing_made or self.proven or not_ours or step.on_failure != "rollback":
            return
        await undo.put_back(self, error.message)

    # -- small things ----------------------------------------------------------------------------------------------

    def _phase(self, name: str, outcome: StepOutcome, message: str, started: float, error: ConsoleError | None) -> None:
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

    def _plan(self) -> Plan:
        assert self.plan is not None
        return self.plan

    def _facts(self) -> Facts:
        assert self.facts is not None
        return self.facts

    def _remote(self) -> Remote:
        assert self.lock is not None
        return self.lock.remote

    def at(self) -> str:
        return stamp(self.context.clock.now())
