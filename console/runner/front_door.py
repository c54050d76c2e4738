"""Putting a target into its balancer again when a run ends before its own `lb.in`, and saying so where that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.changes import balancer
from console.errors import ConsoleError
from console.runner.abort import shielded
from console.schema.change import BalancerChange, CommandChange, FileChange, RestartChange

if TYPE_CHECKING:
    from console.runner.target_run import TargetRun


def still_out(run: TargetRun) -> BalancerChange | None:
    """What took the target out, while nothing put it in again."""
    out: BalancerChange | None = None
    for change in run.moved:
        out = change if change.way == "out" else None
    return out


def begin(run: TargetRun) -> None:
    """A resume or rollback that is to put the target in begins with one that is out."""
    if run.context.options.purpose == "run":
        return
    moves = [change for change in run.planned().changes if isinstance(change, BalancerChange)]
    if moves and moves[0].way == "in":
        run.moved.append(balancer.inverted(moves[0]))


def touched(run: TargetRun) -> bool:
    """Whether this run changed anything of the service itself."""
    return any(isinstance(change, FileChange | CommandChange | RestartChange) for change in run.made)


async def bring_back(run: TargetRun) -> None:
    """Put it in, where what serves is proven or was never touched. Never raises; what is left is told at the end."""
    out = still_out(run)
    never_touched = not touched(run) and run.context.options.purpose == "run"
    if out is None or not (run.proven or never_touched):
        return
    back = balancer.inverted(out).model_copy(update={"id": f"{out.id}-back"})
    try:
        await shielded(run.make(back))
    except ConsoleError as error:
        run.message = "; ".join(part for part in (run.message, error.message) if part)


def told(out: BalancerChange) -> str:
    """The sentence of what is left."""
    return f"{out.member} is still out of the balancer of {out.group}; to put it in: {out.by_hand}"
