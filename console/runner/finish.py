"""What is owed at the end of every target's run: outcome, record, commit, ledger, lock; in this order."""

from __future__ import annotations

import asyncio

from console.errors import ConsoleError
from console.results.repository import Repository
from console.runner import advice, front_door
from console.runner.guard import Guard
from console.runner.keep import keep, said
from console.runner.ledger import settle
from console.runner.target_run import TargetRun
from console.runs.state import RunState
from console.schema.events import TargetFinished
from console.schema.outcome import Outcome, decide, exit_code

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
    left_out = front_door.still_out(run)
    message = "; ".join(part for part in (run.message, front_door.told(left_out) if left_out else "") if part)
    try:
        context.emit(
            TargetFinished(
                target=target,
                outcome=outcome.value,
                exit_code=code,
                duration_s=round(context.clock.monotonic() - run.started_at, 3),
                live=ending.live if outcome is Outcome.APPLIED_UNVERIFIED else None,
                message=message,
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
        await _keep(run, state, repository)
    finally:
        await _free_host(run, outcome)
    return outcome, code


async def _keep(run: TargetRun, state: RunState, repository: Repository | None) -> None:
    context, target = run.context, run.target.name
    wanted = repository if context.options.commit else None
    notes = await keep(context.emit, state, context.directory, target, run.plan, wanted, context.redactor)
    if state.targets[target].committed is None:
        context.messages.extend(notes)  # what a commit was refused for, its own event says
    if wanted is not None:
        context.messages.extend(note for note in wanted.notes if note not in context.messages)


def settles(run: TargetRun) -> tuple[Outcome, ...]:
    """The outcomes that settle what was open before; going on or back may find that nothing is left to do."""
    again = run.context.options.purpose != "run"
    return (Outcome.VERIFIED, Outcome.NO_CHANGE) if again else (Outcome.VERIFIED,)


def _calls_off(guard: Guard, run: TargetRun, outcome: Outcome) -> bool:
    """Whether this end makes a guard needless; one of an earlier run stands until that is proven or undone."""
    proven = (*settles(run), Outcome.VERIFIED_INCOMPLETE, Outcome.ROLLED_BACK)
    return guard.entry_run == run.context.run or outcome in proven


async def _settle_earlier(run: TargetRun, outcome: Outcome) -> None:
    """What was open on the host before is settled by a run that is proven; what this run undid is rolled back."""
    if run.facts is None or run.lock is None or outcome not in settles(run):
        return
    options = run.context.options
    still_open = [entry.run for entry in run.facts.ledger if entry.open and entry.run != run.context.run]
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
            if run.guard is not None and _calls_off(run.guard, run, outcome):
                await run.guard.disarm()
            run.ledger.balancer = "out" if front_door.still_out(run) else ""
            await run.ledger.close(LEDGER_STATES[outcome])
            await _settle_earlier(run, outcome)
    except Exception as error:  # noqa: BLE001 - the lock and the connection are let go in any case
        after = f"; next: {error.hint}" if isinstance(error, ConsoleError) and error.hint else ""
        run.context.messages.append(f"{run.target.name}: the ledger entry stays open: {said(error)}{after}")
    finally:
        if run.guard is not None:
            run.guard.leave()
        await run.host_lock.release()
        if run.lock is not None:
            await run.lock.release()
        if run.reader is not None:
            await run.reader.aclose()
        for task in run.logging:
            if task.done() and not task.cancelled():
                task.exception()
