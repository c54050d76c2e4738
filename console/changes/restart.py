"""Restart the unit: ask with `--no-block`, so that waiting for it can be stopped at any time."""

from __future__ import annotations

from console.changes.base import Made, Seen
from console.errors import RestartedByOthersError, StepFailedError
from console.remote.session import Reader, Remote
from console.remote.systemd import unit_state
from console.schema.change import RestartChange
from console.untrusted import one_line

# Exit status of act_restart.sh when the unit's invocation is not the one it was told.
STARTED_BY_OTHERS = 76


async def look(change: RestartChange, reader: Reader) -> Seen:
    """Whether another start than the one before the change is there, or on its way."""
    state = await unit_state(reader, change.unit)
    if state.invocation_id and state.invocation_id != change.invocation_before:
        return "after"
    if state.job or state.active_state in ("deactivating", "activating"):
        return "after"
    return "before"


async def make(change: RestartChange, remote: Remote, run: str) -> Made:
    """Queue the restart. Raises RestartedByOthersError when somebody started the unit since the plan."""
    output = await remote.act(
        "act_restart.sh", change.unit, "yes" if change.reset_failed else "", change.invocation_before, lock=run
    )
    said = one_line(output.stderr.decode("utf-8", "replace"), 300)
    if output.exit_status == STARTED_BY_OTHERS:
        raise RestartedByOthersError(said or "the unit was started by somebody else", where=remote.target.name)
    if output.exit_status != 0:
        raise StepFailedError(f"restart was refused: {said or output.exit_status}", where=remote.target.name)
    return Made({"invocation": change.invocation_before}, message="restart queued")


async def undo(change: RestartChange, remote: Remote, run: str) -> Made:
    """A restart is undone by another one, from whatever runs now."""
    state = await unit_state(remote, change.unit)
    return await make(again(change, state.invocation_id, failed=state.active_state == "failed"), remote, run)


def again(change: RestartChange, invocation: str, *, failed: bool) -> RestartChange:
    return change.model_copy(update={"invocation_before": invocation, "reset_failed": failed})
