"""What is owed at the end of every target's run: outcome, record, commit, ledger, lock; in this order."""

from __future__ import annotations

import asyncio
from pathlib import Path

from console.errors import ConsoleError
from console.facts.collect import collect
from console.results.record import build_record, save_record
from console.results.repository import Repository
from console.runner import advice, describe
from console.runner.context import RunContext
from console.runner.ledger import settle
from console.runner.target_run import TargetRun
from console.runs.state import RunState
from console.schema.events import FactsRead, RecordCommitted, RecordSaved, TargetFinished
from console.schema.outcome import Outcome, decide, exit_code
from console.schema.plan import Plan
from console.schema.record import Record

LEDGER_STATES = {
    Outcome.VERIFIED: "verified",
    Outcome.VERIFIED_INCOMPLETE: "verified",
    Outcome.ROLLED_BACK: "rolled-back",
    Outcome.FAILED_UNCHANGED: "unchanged",
    Outcome.ABORTED_UNCHANGED: "unchanged",
    Outcome.NO_CHANGE: "unchanged",
    Outcome.MEASURED: "unchanged",
}


async def finish(run: TargetRun, state: RunState, repository: Repository | None) -> tuple[Outcome, int | None]:
    """Decide the outcome from the events alone, keep the record, free the host."""
    context = run.context
    target = run.target.name
    ending = state.ending(target)
    outcome = decide(ending)
    code = exit_code(outcome, state.targets[target].error_exit)
    context.emit(
        TargetFinished(
            target=target,
            outcome=outcome.value,
            exit_code=code,
            duration_s=round(context.clock.monotonic() - run.started_at, 3),
            live=ending.live if outcome is Outcome.APPLIED_UNVERIFIED else None,
            message=run.message,
            next=advice.commands(
                outcome,
                run.target,
                context.run,
                run.plan,
                purpose=context.options.purpose,
                root=context.options.root,
            ),
        )
    )
    await keep(context, state, target, run.plan, repository)
    await _free_host(run, outcome)
    return outcome, code


async def keep(
    context: RunContext, state: RunState, target: str, plan: Plan | None, repository: Repository | None
) -> None:
    """Save the record (fsynced) and commit it once. What fails here changes no outcome."""
    record = build_record(state, target, plan)
    try:
        path = await asyncio.to_thread(save_record, context.directory, record, context.redactor)
    except ConsoleError as error:
        context.messages.append(
            f"{target}: the record could not be kept: {error}; the events are in {context.directory.path}"
        )
        return
    context.emit(RecordSaved(target=target, path=str(path)))
    if repository is None or not context.options.commit:
        return
    await commit(context, record, path, repository)


async def commit(context: RunContext, record: Record, path: Path, repository: Repository) -> None:
    try:
        sha = await asyncio.to_thread(repository.commit_target, record, context.redactor)
    except ConsoleError as error:
        context.emit(RecordCommitted(target=record.target, path=str(path), error=f"saved, not committed: {error}"))
        return
    context.emit(RecordCommitted(target=record.target, path=str(path), sha=sha))
    context.messages.extend(note for note in repository.notes if note not in context.messages)


async def read_after(run: TargetRun) -> None:
    """One more look for the record, when the run made something and no step looked since. Best effort."""
    if run.reader is None or not run.made or run.context.abort.requested:
        return
    try:
        facts = await collect(run.reader, run.engine)
    except ConsoleError:
        return
    run.context.emit(FactsRead(target=run.target.name, when="after", facts=describe.facts(facts)))


def settles(run: TargetRun) -> tuple[Outcome, ...]:
    """The outcomes that settle what was open before; going on or back may find that nothing is left to do."""
    again = run.context.options.purpose != "run"
    return (Outcome.VERIFIED, Outcome.NO_CHANGE) if again else (Outcome.VERIFIED,)


async def _settle_earlier(run: TargetRun, outcome: Outcome) -> None:
    """What was open on the host before is settled by a run that is proven; what this run undid is rolled back."""
    if run.facts is None or run.lock is None or outcome not in settles(run):
        return
    options = run.context.options
    still_open = [entry.run for entry in run.facts.ledger if entry.state == "open" and entry.run != run.context.run]
    if options.purpose == "rollback":
        await settle(run.lock.remote, run.context.run, [options.parent], "rolled-back")
        still_open = [name for name in still_open if name != options.parent]
    await settle(run.lock.remote, run.context.run, still_open, "settled")


async def _free_host(run: TargetRun, outcome: Outcome) -> None:
    """Close the ledger entry, release the lock, let the connection go. A dead connection leaves the entry open."""
    try:
        if run.logging:
            await asyncio.wait(run.logging, timeout=2.0)
        if run.ledger is not None and outcome in LEDGER_STATES and run.lock is not None:
            await run.lock.retake()
            await run.ledger.close(LEDGER_STATES[outcome])
            await _settle_earlier(run, outcome)
    except ConsoleError as error:
        run.context.messages.append(f"{run.target.name}: the ledger entry stays open: {error.message}")
    finally:
        if run.lock is not None:
            await run.lock.release()
        if run.reader is not None:
            await run.reader.aclose()
        for task in run.logging:
            if task.done() and not task.cancelled():
                task.exception()
