"""Closing a run whose process is gone: look at the host, say what is so, keep the record, commit it once.

It changes nothing of a service or its files: to go on there is `resume`, to undo there is `rollback`. Of a host it only
writes the ledger, that a guard's way back is proven or the run's own change is; and of that the guard is called off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from console.changes import kinds
from console.clock import SystemClock, stamp
from console.errors import ConsoleError, StepFailedError
from console.remote.session import Reader, connect_reader
from console.results.repository import Repository
from console.runner import advice, front_door, guard, guard_fired
from console.runner.again import seen_change
from console.runner.keep import keep
from console.runner.ledger import LedgerEnd, settle
from console.runs.directory import RunDirectory
from console.runs.log import EventLog, read_events
from console.runs.state import RunState, fold
from console.runs.target_state import NOT_MADE, ChangeState
from console.schema.change import FileChange, ReloadChange, RestartChange
from console.schema.events import (
    ChangeMade,
    ChangeUndone,
    Event,
    GuardChanged,
    RunFinished,
    TargetFinished,
)
from console.schema.outcome import Outcome, decide, exit_code, worst
from console.schema.plan import Plan, PlanFile
from console.secrets import Redactor

# How long a script of the dead process, and the holder of its lock, are waited for.
OVER_PATIENCE_S = 30.0


# What run.finished says of a run that this closed; such a run may be gone on with, whatever it came to.
CLOSED = "closed by recover"


@dataclass(frozen=True)
class Closed:
    """How a run was closed; `notes` say what could not be looked at or committed."""

    run: str
    exit_code: int
    outcomes: dict[str, str]
    notes: tuple[str, ...]


async def recover(
    directory: RunDirectory,
    *,
    environment: Mapping[str, str],
    redactor: Redactor,
    on_event: Callable[[Event], None] = lambda _event: None,
) -> Closed:
    """Close one orphaned run. Raises StateError while its process lives."""
    directory.take()
    try:
        return await _close(directory, environment, redactor, on_event)
    finally:
        directory.release()


async def _close(
    directory: RunDirectory, environment: Mapping[str, str], redactor: Redactor, on_event: Callable[[Event], None]
) -> Closed:
    clock = SystemClock()
    state = fold(read_events(directory.events_path))
    notes: list[str] = []
    try:
        file: PlanFile | None = directory.read_plan()
    except ConsoleError as error:
        file = None
        notes.append(error.message)
    plans = {plan.target.name: plan for plan in file.plans} if file else {}
    log = directory.log(now=lambda: stamp(clock.now()), redactor=redactor)
    log.subscribe(state.apply)
    log.subscribe(on_event)
    repository = repository_of(state, environment)
    try:
        for name in list(state.targets):
            plan = plans.get(name)
            if plan is not None:
                await _settle(log, state, plan, environment, redactor, notes)
            _finish_target(log, state, name, plan)
            target = state.target(name)
            if target.begun and not (target.committed is not None and target.committed.sha):
                notes += await keep(log.append, state, directory, name, plan, repository, redactor)
        return _finish_run(log, state, notes)
    finally:
        log.close()


def repository_of(state: RunState, environment: Mapping[str, str]) -> Repository | None:
    """Where the run's records belong, as it said itself when it started."""
    if state.started is None or not state.started.results_path:
        return None
    push: Literal["auto", "never"] = "never" if state.started.push == "never" else "auto"
    return Repository(Path(state.started.results_path), push=push, environment=environment)


async def _settle(
    log: EventLog,
    state: RunState,
    plan: Plan,
    environment: Mapping[str, str],
    redactor: Redactor,
    notes: list[str],
) -> None:
    """Look whether each change happened, or was put back; what cannot be looked at stays unknown."""
    target = state.target(plan.target.name)
    unsettled = [change for change in target.changes.values() if change.state in ("intended", "undoing")]
    made = any(isinstance(change.change, FileChange) and change.state != "undone" for change in target.changes.values())
    watched = made and target.guard is not None and target.guard.state != "disarmed"
    if not unsettled and not target.undoing and not watched:
        return
    try:
        reader = await connect_reader(
            plan.target, redactor=redactor, clock=SystemClock(), environment=environment, nodes=True
        )
    except ConsoleError as error:
        notes.append(f"{plan.target.name} could not be looked at: {error.message}")
        return
    try:
        # What the dead process sent goes on without it: looked at now, it has not done yet what it will do.
        for host in (reader, *reader.nodes):
            if still := await host.until_over(state.run, patience_s=OVER_PATIENCE_S):
                notes.append(
                    f"{host.target.name}: {still}: what became of it is not known yet; recover looks no further"
                )
                return
        root = state.started.root if state.started and state.started.root else state.run
        if watched and (note := await guard_fired.told(root, plan, reader, target.changes, log.append)):
            notes.append(note)
            if target.undo_finished is not None and target.undo_finished.proven:
                await _close_entry(reader, state, root, "rolled-back", notes)
            return
        for change in target.changes.values() if target.undoing else unsettled:
            await _settle_change(log, reader, plan, change, notes, undoing=target.undoing)
        if target.guard is not None and target.guard.state in guard.ARMED and target.proven and not target.undoing:
            # Killed between the proof and the end: nobody is to find a switch that has nothing left to put back.
            word = "rolled-back" if state.started and state.started.purpose == "rollback" else "verified"
            problem = await _close_entry(reader, state, root, word, notes, guard_of=plan)
            off = GuardChanged(
                target=plan.target.name, state="still armed" if problem else "disarmed", run=root, message=problem
            )
            log.append(off)
    except ConsoleError as error:
        notes.append(f"{plan.target.name}: {error.message}")
    finally:
        await reader.aclose()


async def _close_entry(
    reader: Reader, state: RunState, root: str, word: LedgerEnd, notes: list[str], *, guard_of: Plan | None = None
) -> str:
    """Say in the ledger that what stands is proven, so that nobody need settle it; and call its guard off.

    Returns what keeps the guard armed. Raises LockHeldError.
    """
    remote = reader.writer()
    operator = state.started.operator if state.started else ""
    hold = await remote.hold_lock(state.run, {"operator": operator, "reason": "recover closes the ledger entry"})
    try:
        try:
            await settle(remote, state.run, [root], word)
        except StepFailedError as error:  # the guard is called off all the same
            notes.append(str(error))
        return await guard.called_off(remote, guard.name_of(guard_of, root), state.run) if guard_of else ""
    finally:
        await hold.release()


async def _settle_change(
    log: EventLog, reader: Reader, plan: Plan, change: ChangeState, notes: list[str], *, undoing: bool
) -> None:
    """Say of one change what the host shows of it. A file is looked at whatever was said of it before."""
    was, what, target = change.state, change.change, plan.target.name
    if was not in ("intended", "undoing") and not isinstance(what, FileChange):
        return
    if was == "undoing" and isinstance(what, RestartChange):
        # Its way back was a restart, too, and started from another process.
        there: dict[str, Any] = change.undo_from.get("nodes") or {}
        what = what.model_copy(
            update={
                "invocation_before": str(change.undo_from.get("invocation", "")),
                "nodes": tuple(
                    each.model_copy(update={"invocation_before": str(there.get(each.node, ""))}) for each in what.nodes
                ),
            }
        )
    seen = await (seen_change(what, plan, reader) if isinstance(what, FileChange) else kinds.look(what, reader))
    stands = seen == "after"
    if was == "undoing" and isinstance(what, ReloadChange | RestartChange):
        stands = seen == "before"  # a way back that did not happen leaves the change as it was made
    shown = {"before": "is as before the run", "after": "is as the run left it"}.get(seen, f"the host shows {seen}")
    if undoing and isinstance(what, FileChange):
        notes.append(f"{target}: {what.path} {shown}")
    say: dict[str, Any] = {"target": target, "change": change.change, "step": change.step, "kind": what.kind}
    if seen not in ("before", "after"):
        if not (undoing and isinstance(what, FileChange)):
            notes.append(f"{target}: {what.summary}: {shown}; nothing is touched")
    elif stands and was in ("intended", "undoing"):
        log.append(ChangeMade(before=change.before, backup=change.backup, **say))
    elif not stands and was in ("made", "undoing"):
        log.append(ChangeUndone(how="run", **say))
    elif not stands and was == "intended":
        log.append(ChangeUndone(how=NOT_MADE, **say))


def _finish_target(log: EventLog, state: RunState, name: str, plan: Plan | None) -> None:
    target = state.target(name)
    if target.finished is not None or not target.begun:
        return
    ending = target.ending()
    outcome = decide(ending)
    message = "its process ended before it was done; closed by recover"
    if target.left_out is not None:
        message = f"{message}; {front_door.told(target.left_out)}"
    log.append(
        TargetFinished(
            target=name,
            outcome=outcome.value,
            exit_code=exit_code(outcome, target.error_exit),
            live=ending.live if outcome is Outcome.APPLIED_UNVERIFIED else None,
            message=message,
            next=advice.commands(
                outcome,
                plan.target,
                state.run,
                plan,
                purpose=state.started.purpose if state.started else "run",
                root=state.started.root if state.started else "",
            )
            if plan
            else (),
        )
    )


def _finish_run(log: EventLog, state: RunState, notes: list[str]) -> Closed:
    named = state.started.targets if state.started else tuple(state.targets)
    outcomes = {name: state.outcome(name).value for name in named}
    code = state.finished.exit_code if state.finished else worst(target.exit_code for target in state.targets.values())
    if state.finished is None:
        log.append(
            RunFinished(
                exit_code=code,
                outcomes=outcomes,
                records=state.records,
                commits=state.commits,
                message=CLOSED,
            )
        )
    return Closed(state.run, code, outcomes, tuple(notes))
