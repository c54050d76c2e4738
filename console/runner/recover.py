"""Closing a run whose process is gone: look at the host, say what is so, keep the record, commit it once.

It changes nothing on any host: to go on there is `resume`, to undo there is `rollback`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from console.changes import kinds
from console.clock import SystemClock, stamp
from console.errors import ConsoleError
from console.remote.session import Reader, connect_reader
from console.results.record import build_record, save_record
from console.results.repository import Repository
from console.runner import advice
from console.runs.directory import RunDirectory
from console.runs.log import EventLog, read_events
from console.runs.state import RunState, fold
from console.runs.target_state import NOT_MADE, ChangeState
from console.schema.events import (
    ChangeMade,
    ChangeUndone,
    Event,
    RecordCommitted,
    RecordSaved,
    RunFinished,
    TargetFinished,
)
from console.schema.outcome import Outcome, decide, exit_code, worst
from console.schema.plan import Plan, PlanFile
from console.secrets import Redactor

LOOK_PATIENCE_S = 5.0


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
            await _keep(log, state, directory, name, plan, repository, redactor, notes)
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
    """Look whether each change that was intended happened; what cannot be looked at stays unknown."""
    open_changes = [change for change in state.target(plan.target.name).changes.values() if change.state == "intended"]
    if not open_changes:
        return
    try:
        reader = await connect_reader(plan.target, redactor=redactor, clock=SystemClock(), environment=environment)
    except ConsoleError as error:
        notes.append(f"{plan.target.name} could not be looked at: {error.message}")
        return
    try:
        for change in open_changes:
            await _settle_change(log, reader, plan, change, notes)
    except ConsoleError as error:
        notes.append(f"{plan.target.name}: {error.message}")
    finally:
        await reader.aclose()


async def _settle_change(log: EventLog, reader: Reader, plan: Plan, change: ChangeState, notes: list[str]) -> None:
    seen = await kinds.look(change.change, reader)
    if seen == "after":
        log.append(
            ChangeMade(
                target=plan.target.name,
                change=change.change,
                step=change.step,
                kind=change.change.kind,
                before=change.before,
                backup=change.backup,
            )
        )
    elif seen == "before":
        log.append(
            ChangeUndone(
                target=plan.target.name, change=change.change, step=change.step, kind=change.change.kind, how=NOT_MADE
            )
        )
    else:
        notes.append(f"{plan.target.name}: {change.change.summary}: the host shows {seen}; nothing is touched")


def _finish_target(log: EventLog, state: RunState, name: str, plan: Plan | None) -> None:
    target = state.target(name)
    if target.finished is not None or not target.begun:
        return
    ending = target.ending()
    outcome = decide(ending)
    log.append(
        TargetFinished(
            target=name,
            outcome=outcome.value,
            exit_code=exit_code(outcome, target.error_exit),
            live=ending.live if outcome is Outcome.APPLIED_UNVERIFIED else None,
            message="its process ended before it was done; closed by recover",
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


async def _keep(
    log: EventLog,
    state: RunState,
    directory: RunDirectory,
    name: str,
    plan: Plan | None,
    repository: Repository | None,
    redactor: Redactor,
    notes: list[str],
) -> None:
    """Record and commit, each once: a record that HEAD has already is only noted."""
    target = state.target(name)
    if not target.begun or (target.committed is not None and target.committed.sha):
        return
    record = build_record(state, name, plan)
    path = await asyncio.to_thread(save_record, directory, record, redactor)
    if target.record is None:
        log.append(RecordSaved(target=name, path=str(path)))
    if repository is None:
        return
    try:
        sha = await asyncio.to_thread(repository.commit_target, record, redactor)
    except ConsoleError as error:
        notes.append(f"{name}: saved, not committed: {error.message}: {path}")
        log.append(RecordCommitted(target=name, path=str(path), error=error.message))
        return
    log.append(RecordCommitted(target=name, path=str(path), sha=sha))


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
                message="closed by recover",
            )
        )
    return Closed(state.run, code, outcomes, tuple(notes))
