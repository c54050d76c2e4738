"""Recording what is so without changing it: a baseline, or differences that somebody else made."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console import __version__
from console.clock import Clock, stamp, ulid
from console.engines.base import Engine
from console.errors import RefusedError
from console.results.repository import Repository
from console.runner import describe
from console.runner.keep import keep
from console.runs.directory import RunDirectory, base_folder
from console.runs.state import RunState
from console.schema.events import (
    DriftObserved,
    FactsRead,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    TargetFinished,
    TargetStarted,
)
from console.schema.facts import Facts
from console.schema.hosts import Inventory, Target
from console.schema.outcome import Outcome
from console.secrets import Redactor
from console.steps.levels import event_of, levels_of

SETTINGS = ("context_length", "mem_fraction", "kv_cache_dtype", "max_running_requests")


@dataclass(frozen=True)
class Words:
    """Who records it, and what they say of it."""

    operator: str
    from_host: str
    reason: str = ""
    ticket: str = ""
    note: str = ""


@dataclass(frozen=True)
class Observation:
    """What was seen of one target. `purpose`: adopt (a baseline) · observe (differences)."""

    purpose: str
    target: Target
    engine: Engine
    facts: Facts
    observed: Sequence[DriftObserved] = ()


@dataclass(frozen=True)
class Kept:
    """A run of that: its id, the commit where it was made, and what did not go well."""

    run: str
    sha: str
    notes: tuple[str, ...]


async def record(
    seen: Observation,
    words: Words,
    *,
    inventory: Inventory,
    redactor: Redactor,
    clock: Clock,
    environment: Mapping[str, str],
    randomness: bytes | None = None,
) -> Kept:
    """One run that only looked: its log, its record, its commit. Raises StateError where no run can be kept here."""
    if seen.purpose == "observe" and not seen.observed:
        raise RefusedError("nothing differs from the last record", where=seen.target.name)
    run = ulid(clock.now(), randomness or os.urandom(10))
    name = seen.target.name
    repository = Repository(inventory.results_path, push=inventory.results.push, environment=environment)
    with RunDirectory.create(base_folder(environment), run) as directory:
        log = directory.log(now=lambda: stamp(clock.now()), redactor=redactor)
        state = RunState()
        log.subscribe(state.apply)
        try:
            log.append(
                RunStarted(
                    runbook=seen.purpose,
                    purpose=seen.purpose,
                    targets=(name,),
                    operator=words.operator,
                    from_host=words.from_host,
                    reason=words.reason,
                    ticket=words.ticket,
                    note=words.note,
                    console_version=__version__,
                    pid=directory.pid,
                    results_path=str(inventory.results_path),
                    push=inventory.results.push,
                )
            )
            service = seen.target.service
            router = describe.router(inventory, name)
            log.append(TargetStarted(target=name, unit=service.unit, engine=service.engine, router=router))
            log.append(FactsRead(target=name, when="before", facts=describe.facts(seen.facts)))
            step = {"target": name, "step": "look", "uses": f"history.{seen.purpose}"}
            log.append(StepStarted.model_validate({**step, "index": 1, "of": 1}))
            for setting in SETTINGS:
                if setting in seen.engine.spellings:
                    log.append(event_of(name, levels_of(seen.facts, seen.engine, setting)))
            for one in seen.observed:
                log.append(one)
            log.append(StepFinished.model_validate({**step, "outcome": "ok"}))
            log.append(TargetFinished(target=name, outcome=Outcome.NO_CHANGE.value, exit_code=0))
            notes = await keep(log.append, state, directory, name, None, repository, redactor)
            log.append(
                RunFinished(
                    exit_code=0,
                    outcomes={name: Outcome.NO_CHANGE.value},
                    records=state.records,
                    commits=state.commits,
                )
            )
        finally:
            log.close()
    return Kept(run, state.commits.get(name, ""), (*notes, *repository.notes))
