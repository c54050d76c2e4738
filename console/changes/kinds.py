"""The one place that maps a change to the code of its kind."""

from __future__ import annotations

from console.changes import balancer, command, fabric, file, reload, restart, restart_nodes
from console.changes.base import Made, Seen
from console.remote.session import Reader, Remote
from console.remote.systemd import unit_state
from console.schema.change import BalancerChange, Change, CommandChange, FabricChange, FileChange, ReloadChange


async def look(change: Change, reader: Reader) -> Seen:
    """Whether the change is there. Reads only."""
    if isinstance(change, FileChange):
        return await file.look(change, reader.at(change.node))
    if isinstance(change, ReloadChange):
        return await reload.look(change, reader)
    if isinstance(change, CommandChange):
        return await command.look(change, reader)
    if isinstance(change, BalancerChange):
        return await balancer.look(change, reader)
    if change.nodes:
        return await restart_nodes.look(change, reader)
    return await restart.look(change, reader)


async def make(change: Change, remote: Remote, run: str) -> Made:
    """Make the change, in the name of the run that holds the lock."""
    if isinstance(change, FileChange):
        return await file.make(change, remote.at(change.node), run)
    if isinstance(change, ReloadChange):
        return await reload.make(change, remote, run)
    if isinstance(change, FabricChange):
        return await fabric.make(change, remote, run)
    if isinstance(change, CommandChange):
        return await command.make(change, remote, run)
    if isinstance(change, BalancerChange):
        return await balancer.make(change, remote, run)
    if change.nodes:
        return await restart_nodes.make(change, remote, run)
    return await restart.make(change, remote, run)


async def inverse(change: Change, reader: Reader) -> Change | None:
    """The change that leads back, from the host as it is; None for a command, which has an undo of its own."""
    if isinstance(change, CommandChange):
        return None
    if isinstance(change, FileChange):
        return file.inverted(change)
    if isinstance(change, BalancerChange):
        return balancer.inverted(change)
    if isinstance(change, ReloadChange):
        return change
    nodes = {start.node: await unit_state(reader.at(start.node), start.unit or change.unit) for start in change.nodes}
    return restart.from_now(change, await unit_state(reader, change.unit), nodes)


async def undo_command(change: CommandChange, remote: Remote, run: str) -> Made:
    """What the author of a command gave as its way back. Raises StepFailedError where that is nothing."""
    if isinstance(change, FabricChange):
        return await fabric.undo(change, remote, run)
    return await command.undo(change, remote, run)
