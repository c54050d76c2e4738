"""Putting back what this run made, in reverse, and proving that the old state serves again."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from console.changes import kinds
from console.changes.base import Made
from console.errors import (
    AbortedError,
    ConnectError,
    ConnectionLostError,
    ConsoleError,
    InternalError,
    RefusedError,
    StepFailedError,
    SudoError,
)
from console.facts.collect import collect_again
from console.remote.ledger import read_ledger
from console.runner import again, describe, front_door
from console.runner.carry import carry, reach
from console.runs.listing import PENDING
from console.schema.change import BalancerChange, Change, CommandChange, FileChange, ReloadChange, RestartChange
from console.schema.events import (
    ChangeUndoing,
    ChangeUndone,
    GuardChanged,
    StepFinished,
    StepProgress,
    StepStarted,
    UndoFinished,
    UndoStarted,
)
from console.schema.plan import PlannedStep
from console.steps.registry import STEP_KINDS
from console.untrusted import one_line

if TYPE_CHECKING:
    from console.runner.target_run import TargetRun

# The second stop during a rollback ends it; the first one only says what is being restored.
STOPS_TO_GIVE_UP = 2
# How long a guard that is putting files back is waited for.
GUARD_PATIENCE_S = 30.0


async def put_back(run: TargetRun, reason: str, remedy: str = "") -> None:
    """Files first, then one reload, then one restart with its wait and proof. Never raises: the end is an event.

    `remedy`: the start failed for a cause on the host, and what helps there; then nothing is started a second time.

    On a host that cannot be reached, or where somebody else was meanwhile, nothing is begun: it stays as it is.
    """
    run.stop.withdraw()
    started = run.context.clock.monotonic()
    try:
        await reach(run)
    except Exception as error:  # noqa: BLE001 - whatever it is, the run still ends in a record
        known = known_error(error)
        pending(run, known, started)
        return
    run.context.emit(UndoStarted(target=run.target.name, reason=reason))
    await _tell_ledger(run)
    left: list[str] = []  # what the commands of the runbook did and nothing undid
    message = "the old state is back"
    proven = False
    try:
        await _put_back(run, left, remedy)
        proven = not left
        message = "files and service are back" if left else message
    except Exception as error:  # noqa: BLE001 - as above
        message = str(known_error(error))
    message = "; still there: ".join([message, *left])
    run.context.emit(UndoFinished(target=run.target.name, proven=proven, message=message))


async def by_guard(run: TargetRun, error: ConsoleError) -> bool:
    """Whether it was the guard on the host that came in meanwhile; then its way back is proven like one of ours.

    Never raises: the end is an event.
    """
    if run.lock is None or run.guard is None or not run.guard.armed:
        return False
    root = run.guard.entry_run
    try:
        entry = await _put_back_by_guard(run, root)
    except ConsoleError:
        return False
    if entry is None:
        return False
    run.stop.withdraw()
    run.guard_fired = True
    run.guard.stop_pushing()
    target = run.target.name
    said = "it put the files back and restarted the unit"
    run.context.emit(GuardChanged(target=target, state="fired", run=root, message=said))
    run.context.emit(UndoStarted(target=target, reason="the guard on the host put it back"))
    proven, message = False, "the guard on the host put it back, and the old state serves"
    try:
        await reach(run)
        left = await _left_by_guard(run, entry)
        await _of_this_boot(run)
        await _prove_old(run)
        left += await _put_in(run)
        proven = not left
        message = "; still there: ".join([message, *left])
    except Exception as problem:  # noqa: BLE001 - as in put_back
        message = f"put back by the guard, not proven: {known_error(problem)}"
    run.message = f"{error.message}: it was the guard on the host"
    run.context.emit(UndoFinished(target=target, proven=proven, message=message))
    return True


async def _put_back_by_guard(run: TargetRun, root: str) -> dict[str, Any] | None:
    """The ledger's entry where it says so. A guard that is at work holds the lock: it is waited for."""
    assert run.lock is not None
    deadline = run.context.clock.monotonic() + GUARD_PATIENCE_S
    while True:
        entries = {str(document.get("run")): document for document in await read_ledger(run.lock.remote)}
        entry = entries.get(root, {})
        held = (await run.lock.remote.look("look_lock.sh", run.lock.remote.lock_file)).text("lock")
        at_work = held.startswith("held=yes") and f"guard of {root}" in held
        if entry.get("state") == "guard" and not at_work:
            return entry
        if not at_work or run.context.clock.monotonic() >= deadline:
            return None
        await run.context.clock.sleep(0.5)


async def _of_this_boot(run: TargetRun) -> None:
    """A reboot after the guard's way back is nobody's change: what it starts now is the old state, and is proven."""
    assert run.lock is not None
    before = run.seen_facts()
    now = await collect_again(run.lock.remote, run.engine, before)
    run.facts = before.model_copy(update={"host": before.host.model_copy(update={"boot_id": now.host.boot_id})})


async def _left_by_guard(run: TargetRun, entry: dict[str, Any]) -> list[str]:
    """Say of each change whether it is back, and return what is not."""
    assert run.lock is not None
    left = []
    for change in run.made:
        say: dict[str, Any] = {"target": run.target.name, "change": change, "step": change.step, "kind": change.kind}
        if isinstance(change, CommandChange):
            left.append(f"what {one_line(change.command, 80)!r} did: a guard runs no commands")
        elif isinstance(change, BalancerChange):
            if entry.get("balancer") == "in":
                run.moved.clear()
                run.context.emit(ChangeUndone(how="guard", **say))
        elif isinstance(change, FileChange) and not await again.is_back(change, run.planned(), run.lock.remote):
            left.append(f"{change.path} is not as it was before the run")
        else:
            run.context.emit(ChangeUndone(how="guard", **say))
    return left


async def _tell_ledger(run: TargetRun) -> None:
    """Whoever takes this run over goes on putting back. That this cannot be said keeps nobody from doing it."""
    if run.ledger is not None:
        with suppress(ConsoleError):
            await run.ledger.close("undoing")


def known_error(error: Exception) -> ConsoleError:
    return error if isinstance(error, ConsoleError) else InternalError(f"{type(error).__name__}: {error}")


def pending(run: TargetRun, error: ConsoleError, started: float) -> None:
    """Say that nothing was put back, and whether that only waits for the host to be reached."""
    word = "nothing was put back"
    if isinstance(error, ConnectError | ConnectionLostError):
        word = f"{PENDING}: the host cannot be reached, nothing was put back yet"
    run.message = f"{run.message}; {word}" if run.message else word
    run.phase("undo", "failed", f"{word}: {error}", started, error)


async def _put_back(run: TargetRun, left: list[str], remedy: str) -> None:
    """Everything that has a way back; what has none comes into `left`."""
    made = list(run.made)
    for change in reversed(made):
        if isinstance(change, CommandChange):
            left += await _undo_command(run, change)
        elif isinstance(change, FileChange):
            await _undo(run, change)
    if any(isinstance(change, FileChange) for change in made) and any(change.kind == "reload" for change in made):
        await _undo(run, next(change for change in made if isinstance(change, ReloadChange)))
    elif any(isinstance(change, FileChange) and change.needs_reload for change in made):
        await _read_again(run)
    restarts = [change for change in made if isinstance(change, RestartChange)]
    if not restarts:
        left += await _put_in(run)
        return
    if remedy:
        raise StepFailedError(
            "the files are back and the service was not started again: the cause is on the host, not in the setting",
            where=run.target.name,
            hint=f"{remedy}; then console resume {run.context.run}",
        )
    made_again = await _undo(run, restarts[-1])
    run.invocation_before = str(made_again.before.get("invocation", ""))
    run.nodes_before = dict(made_again.before.get("nodes") or {})
    await _prove_old(run)
    left += await _put_in(run)


async def _prove_old(run: TargetRun) -> None:
    """Wait until the old setting serves, and prove it. Raises what a wait and a proof raise."""
    run.invocation = ""
    before = {change.setting: change.before for change in run.plan.settings} if run.plan else {}
    expected = {name: value for name, value in before.items() if value is not None}
    await _look(run, "service.wait_ready", "wait until the old setting serves", {}, expected)
    fields = {"probe": "short", "require": "start"}
    await _look(run, "service.verify", "prove that the old setting serves", fields, expected)


async def _read_again(run: TargetRun) -> None:
    """A file that was written and put back before the reload has another time: systemd would go on asking for one."""
    planned = run.plan.changes if run.plan else ()
    reload = next((change for change in planned if isinstance(change, ReloadChange)), None)
    if reload is not None and run.lock is not None and await kinds.look(reload, run.lock.remote) == "before":
        await carry(run, reload)


async def _undo_command(run: TargetRun, change: CommandChange) -> list[str]:
    """A command without a way back, or whose way back fails, keeps no file and no service from being put back."""
    try:
        await _undo(run, change)
    except (StepFailedError, RefusedError, SudoError) as error:
        return [f"what {one_line(change.command, 80)!r} did ({error.message})"]
    return []


async def _put_in(run: TargetRun) -> list[str]:
    """Into its balancer again, last of all: nobody is sent to a service that was not shown to serve."""
    out = front_door.still_out(run)
    if out is None:
        return []
    try:
        await _undo(run, out)
    except (StepFailedError, RefusedError, SudoError) as error:
        return [f"{front_door.told(out)} ({error.message})"]
    run.moved.clear()
    await run.context.doors.back(out)
    return []


async def _undo(run: TargetRun, change: Change) -> Made:
    assert run.lock is not None
    back = await kinds.inverse(change, run.lock.remote)
    run.sent.append(back or change)
    say = {"target": run.target.name, "change": change, "step": change.step, "kind": change.kind}
    run.context.emit(ChangeUndoing(before=describe.before(back or change), **say))
    made = await (carry(run, change, kinds.undo_command) if back is None else carry(run, back))
    run.context.emit(ChangeUndone(before=made.before, after=made.after, how="run", **say))
    return made


async def _look(run: TargetRun, uses: str, title: str, fields: dict[str, str], expected: dict[str, str]) -> None:
    """A wait or a proof of the old state; a first stop is answered with what is being restored."""
    step = PlannedStep(id=f"undo-{uses.partition('.')[2]}", index=0, uses=uses, title=title, on_failure="stop")
    say = {"target": run.target.name, "step": step.id, "uses": uses}
    run.context.emit(StepStarted(index=0, of=0, title=title, on_abort="goes on; twice gives up", **say))
    started = run.context.clock.monotonic()
    stops = 0
    while True:
        io = run.io(step, expected)
        try:
            result = await run.stop.race(STEP_KINDS[uses].model_validate(fields).run(io))
        except AbortedError:
            stops += 1
            run.seen = io.seen or run.seen
            if stops >= STOPS_TO_GIVE_UP:
                _finished(run, step, "aborted", "stopped while the old state was coming back", started)
                raise
            run.stop.withdraw()
            run.context.emit(
                StepProgress(
                    target=run.target.name,
                    step=step.id,
                    phase="restoring",
                    message="the old state is being restored; stop once more to give up",
                )
            )
            continue
        except Exception as error:
            _finished(run, step, "failed", str(known_error(error)), started)
            raise
        run.seen = io.seen or run.seen
        run.invocation = io.invocation or run.invocation
        _finished(run, step, "ok" if result.outcome == "ok" else "failed", result.message, started)
        if result.outcome != "ok":
            raise StepFailedError(result.message, where=run.target.name)
        return


def _finished(run: TargetRun, step: PlannedStep, outcome: str, message: str, started: float) -> None:
    run.context.emit(
        StepFinished.model_validate(
            {
                "target": run.target.name,
                "step": step.id,
                "uses": step.uses,
                "outcome": outcome,
                "message": message,
                "duration_s": round(run.context.clock.monotonic() - started, 3),
            }
        )
    )
