"""Restart the unit: ask with `--no-block`, so that waiting for it can be stopped at any time."""

from __future__ import annotations

from collections.abc import Mapping

from console.changes.base import Made, Seen
from console.errors import RestartedByOthersError, StepFailedError
from console.remote.session import Reader, Remote
from console.remote.systemd import unit_state
from console.schema.change import NodeStart, RestartChange
from console.schema.facts import UnitState
from console.untrusted import one_line

# Exit status of act_restart.sh when the unit's invocation is not the one it was told.
STARTED_BY_OTHERS = 76


async def look(change: RestartChange, reader: Reader) -> Seen:
    """Whether another start than the one before the change is there, or on its way."""
    return seen(await unit_state(reader, change.unit), change)


def seen(state: UnitState, change: RestartChange) -> Seen:
    """A start that was asked for, told from one that systemd makes by itself after a crash.

    Every asked-for stop or start is a job, and sets NRestarts to 0; systemd's own start counts it up. Where both
    readings are possible it is unknown: our restart may have crashed once, or the process it was to end.
    """
    another = bool(state.invocation_id) and state.invocation_id != change.invocation_before
    asked = bool(state.job) and state.job != change.job_before
    if not (another or asked):
        return "before"
    if state.n_restarts <= change.n_restarts_before:
        return "after"
    # In a crash loop that was there before, a restart of ours would have set the counter back.
    return "before" if change.n_restarts_before else "unknown"


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


def from_now(change: RestartChange, state: UnitState, nodes: Mapping[str, UnitState] | None = None) -> RestartChange:
    """The same restart, from whatever runs now; `nodes`: on the other hosts of the same engine.

    The counter of starts is always set back: what ran since may have used it up, also where the unit is not `failed`
    yet but between two starts, and then systemd would refuse this one and leave the service down.
    """
    return change.model_copy(
        update={
            "invocation_before": state.invocation_id,
            "n_restarts_before": state.n_restarts,
            "job_before": state.job,
            "reset_failed": True,
            "nodes": tuple(
                NodeStart(
                    node=node,
                    unit=there.id if "/" in node else "",
                    invocation_before=there.invocation_id,
                    n_restarts_before=there.n_restarts,
                    job_before=there.job,
                )
                for node, there in (nodes or {}).items()
            ),
        }
    )
