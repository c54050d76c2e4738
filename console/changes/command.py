"""A command of the runbook's author that changes the host."""

from __future__ import annotations

import base64

from console.changes.base import Made, Seen
from console.errors import RefusedError, StepFailedError
from console.remote.scripts import Output, name_of_run
from console.remote.session import Reader, Remote
from console.schema.change import CommandChange
from console.secrets import MASK
from console.untrusted import decode, one_line


async def look(change: CommandChange, reader: Reader) -> Seen:
    """What a command did cannot be seen from outside."""
    return "unknown"


async def make(change: CommandChange, remote: Remote, run: str) -> Made:
    """Run it. Raises StepFailedError for an exit status other than 0."""
    return await _run(change.command, change, remote, run)


async def undo(change: CommandChange, remote: Remote, run: str) -> Made:
    """Run the undo command. Raises StepFailedError when there is none, RefusedError when it is not whole."""
    if not change.undo:
        raise StepFailedError(
            f"the command {one_line(change.command, 80)!r} has no undo: what it did is still there",
            where=remote.target.name,
        )
    # A scope of its own: what the command left in the background keeps the other one.
    return await _run(change.undo, change, remote, run, suffix="-undo")


def names(change: CommandChange, run: str) -> tuple[str, str]:
    """What its shell is called in the host's list of processes, and the scope that systemd keeps it in."""
    scope = f"{name_of_run(run)}{change.id}"
    return f"{scope}-command", scope


async def send(
    remote: Remote, command: str, run: str, *, sudo: bool, name: str, scope: str, timeout_s: float
) -> Output:
    """Run somebody's own command on the host once, under the lock, by names it is found and stopped by. See `act`."""
    return await remote.act(
        "act_command.sh",
        base64.b64encode(command.encode()).decode(),
        "yes" if sudo else "",
        scope,
        lock=run,
        timeout_s=timeout_s,
        name=name,
        scope=scope,
    )


async def _run(command: str, change: CommandChange, remote: Remote, run: str, *, suffix: str = "") -> Made:
    if MASK in command:
        # Refused, not failed: nothing of it ran.
        raise RefusedError(
            f"the command {one_line(command, 80)!r} holds a secret that was masked where it was kept",
            where=remote.target.name,
            hint="run it by hand",
        )
    name, scope = (f"{each}{suffix}" for each in names(change, run))
    output = await send(remote, command, run, sudo=change.sudo, name=name, scope=scope, timeout_s=change.timeout_s)
    said = one_line(decode(output.stdout or output.stderr), 300)
    if output.exit_status != 0:
        raise StepFailedError(f"exit status {output.exit_status}: {said}", where=remote.target.name)
    return Made(after={"exit_status": 0}, message=said or "exit status 0")
