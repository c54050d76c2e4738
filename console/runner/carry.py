"""Making a change over a connection that may die under it: made once, and looked for before it is made again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from console.changes import kinds
from console.changes.base import Made, Seen
from console.errors import (
    ConnectError,
    ConnectionLostError,
    ConsoleError,
    LockHeldError,
    RestartedByOthersError,
    StalePlanError,
    StepFailedError,
    UnreachableError,
)
from console.remote.session import Remote
from console.runner import describe
from console.schema.change import BalancerChange, Change, CommandChange, RestartChange

if TYPE_CHECKING:
    from console.runner.target_run import TargetRun

# How long a change whose connection died is looked for before it stays unknown.
RESOLVE_PATIENCE_S = 60.0

Act = Callable[[Any, Remote, str], Awaitable[Made]]


async def carry(run: TargetRun, change: Change, act: Act = kinds.make) -> Made:
    """Make a change, or undo it with `act`. Raises ConnectionLostError when it cannot be told whether it happened."""
    assert run.lock is not None
    what = change.summary or change.kind
    while True:
        try:
            await run.host_lock.before(run, change)
            made = await act(change, run.lock.remote, run.context.run)
            await run.host_lock.after(change)
            return made
        except ConnectionLostError:
            sent = True
        except UnreachableError:
            # Of a command nothing was sent; the other kinds also look, before and after they act.
            sent = not isinstance(change, CommandChange)
        except LockHeldError:
            if run.lock.held:
                raise
            sent = False  # the connection was opened again under the script, and the lock had died with the old one
        taken: ConsoleError | None = None
        try:
            try:
                await reach(run)
            except (LockHeldError, StalePlanError, RestartedByOthersError) as error:
                taken = error  # whoever came in meanwhile: what became of our change is still to be told
            seen = await kinds.look(change, run.lock.remote) if sent else "before"
            if seen == "unknown" and (isinstance(change, BalancerChange) or _of_ranks(change)):
                seen = "before"  # it may be made twice, also where it was made by half
        except ConnectError as error:
            raise ConnectionLostError(
                f"the connection died during {what} and the host cannot be reached: whether it happened is unknown",
                where=run.target.name,
                hint=f"console recover, then console resume {run.context.run}",
            ) from error
        if seen == "after":
            await run.host_lock.after(change)
            before = describe.before(change) if isinstance(change, RestartChange) else {}
            return Made(before, message=f"{what}: the connection died, the host shows that it happened")
        if taken is not None and seen == "before":
            raise taken
        if seen != "before":
            raise ConnectionLostError(
                f"the connection died during {what}; what the host shows now: {seen}", where=run.target.name
            )


async def fate(run: TargetRun, change: Change, error: ConsoleError) -> Seen:
    """Whether a change whose making failed is there all the same: the error says so, or the host does."""
    assert run.lock is not None
    if isinstance(error, ConnectionLostError):
        return "unknown"
    if isinstance(change, CommandChange):
        return "after" if isinstance(error, StepFailedError) else "before"
    if isinstance(change, BalancerChange):
        # Taken out by half is out; not put in is not put in.
        return "after" if isinstance(error, StepFailedError) and change.way == "out" else "before"
    # Of the ranks of an engine one may be down already, whatever the next one's refusal says of itself.
    if (error.changed is False or isinstance(error, RestartedByOthersError)) and not _of_ranks(change):
        return "before"
    try:
        seen = await kinds.look(change, run.lock.remote)
    except ConnectError:
        return "unknown"
    # Ranks that are down, or some of them started: that is put back as if all were.
    return "after" if seen == "unknown" and _of_ranks(change) else seen


def _of_ranks(change: Change) -> bool:
    return isinstance(change, RestartChange) and bool(change.nodes)


async def reach(run: TargetRun) -> None:
    """A connection, our lock, and nothing of ours under way.

    Raises ConnectError; for somebody else LockHeldError, StalePlanError or RestartedByOthersError.

    A script goes on when its connection dies: looked at too early it has not done yet what it will do.
    """
    assert run.lock is not None
    for remote in run.lock.remote.everywhere:
        await remote.look("look_lock.sh", patience_s=RESOLVE_PATIENCE_S)
    await run.regained()
    for remote in run.lock.remote.everywhere:
        await remote.until_quiet(patience_s=RESOLVE_PATIENCE_S)
