"""Restart the unit: ask with `--no-block`, so that waiting for it can be stopped at any time."""

from __future__ import annotations

from console.changes.base import Made, Seen
from console.errors import RestartedByOthersError, StepFailedError
from console.remote.session import Reader, Remote
from console.remote.systemd import unit_state
from console.schema.change import RestartChange
from console.schema.facts import UnitState
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
        "act_restart.sh",
        change.unit,
        "yes" if change.reset_failed else "",
        change.invocation_before,
        str(change.n_restarts_before),
        lock=run,
    )
    said = one_line(output.stderr.decode("utf-8", "replace"), 300)
    if output.exit_status == STARTED_BY_OTHERS:
        raise RestartedByOthersError(said or "the unit was started by somebody else", where=remote.target.name)
    if output.exit_status != 0:
        raise StepFailedError(f"restart was refused: {said or output.exit_status}", where=remote.target.name)
    # In a crash loop systemd may have started it once more since the look: what this restart ends is what counts.
    return Made({"invocation": output.text("ended").strip()}, message="restart queued")


async def undo(change: RestartChange, remote: Remote, run: str) -> Made:
    """A restart is undone by another one, from whatever runs now."""
    state = await unit_state(remote, change.unit)
    return await make(from_now(change, state), remote, run)


def from_now(change: RestartChange, state: UnitState) -> RestartChange:
    """The same restart, from whatever runs now."""
    return change.model_copy(
        update={
            "invocation_before": state.invocation_id,
            "n_restarts_before": state.n_restarts,
            "reset_failed": state.active_state == "failed",
        }
    )
