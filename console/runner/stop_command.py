"""A command of the runbook's author is stopped on the host when a stop is asked for, and seen gone there."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from console.changes import command, fabric
from console.changes.base import Made
from console.errors import AbortedError, StepFailedError
from console.runner.abort import shielded
from console.schema.change import CommandChange, FabricChange
from console.untrusted import one_line

if TYPE_CHECKING:
    from console.runner.target_run import TargetRun


async def stoppable(run: TargetRun, change: CommandChange) -> Made:
    """Run the command to its end, or to a stop. Raises AbortedError then: what it did until there stays.

    SSH signals do not reach processes of a root login, and closing a channel ends none, so a script on the host does.
    """
    making = asyncio.ensure_future(shielded(run.make(change)))
    stop = asyncio.ensure_future(run.stop.event.wait())
    try:
        await asyncio.wait({making, stop}, return_when=asyncio.FIRST_COMPLETED)
        if making.done() or run.lock is None:
            return await making
        if isinstance(change, FabricChange):
            said = fabric.stop(change, run.context.run)
        else:
            said = await run.lock.remote.stop_command(*command.names(change, run.context.run))
        with suppress(StepFailedError):  # the exit status of what was stopped
            return await making  # it ended by itself just then
        what = f"stopped in the command {one_line(change.command, 80)!r}"
        raise AbortedError(f"stopped by {run.stop.how}", hint=f"{what}: {said or 'it is gone'}; what it did stays")
    finally:
        stop.cancel()
