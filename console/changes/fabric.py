"""A task of an existing fabfile: a command of its author, carried out by Fabric in a thread of ours."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from console.changes.base import Made
from console.errors import RefusedError, StepFailedError
from console.remote import fabric
from console.remote.session import Remote
from console.schema.change import FabricChange
from console.secrets import MASK
from console.untrusted import one_line

# The connections of the tasks that go on, by run and change: a stop closes them.
GOING: dict[tuple[str, str], Any] = {}


async def make(change: FabricChange, remote: Remote, run: str) -> Made:
    """Call the task. Raises StepFailedError when it raises or takes too long, ConnectError before anything ran."""
    return await _call(change.task, change, remote, run)


async def undo(change: FabricChange, remote: Remote, run: str) -> Made:
    """Call the undo task. Raises StepFailedError when there is none."""
    if not change.undo:
        raise StepFailedError(
            f"the task {change.task!r} has no undo: what it did is still there", where=remote.target.name
        )
    return await _call(change.undo, change, remote, run)


def stop(change: FabricChange, run: str) -> str:
    """Close the connection under a task, and say what that does not end."""
    connection = GOING.get((run, change.id))
    if connection is not None:
        connection.close()
    return "its connection is closed, and what it started on the host may still be running"


async def _call(task: str, change: FabricChange, remote: Remote, run: str) -> Made:
    where = remote.target.name
    if any(MASK in str(value) for value in change.args.values()):
        raise RefusedError(f"an argument of {task!r} was a secret, masked where it was kept", where=where)
    # Fabric's own commands cannot look at the lock, so it is looked at once before them.
    await remote.act("act_log.sh", one_line(f"run {run}: fabric task {task} of {change.file}", 400), lock=run)
    said = fabric.Said()
    connection = fabric.connection_of(remote.target, said)
    GOING[run, change.id] = connection
    work = asyncio.to_thread(
        fabric.carry_out, connection, Path(change.file), change.sha256, task, dict(change.args), said, where
    )
    try:
        result = await asyncio.wait_for(work, change.timeout_s)
    except TimeoutError:
        message = f"the task {task!r} did not end within {change.timeout_s:g} s: {stop(change, run)}"
        raise StepFailedError(message, where=where) from None
    finally:
        GOING.pop((run, change.id), None)
    lines = [one_line(line, 400) for line in said.lines()]
    return Made(
        after={"output": lines, "result": result}, message=result or (lines[-1] if lines else f"{task} is done")
    )
