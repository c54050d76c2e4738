"""One script on one connection: what came back, and how far it got. No exception tells these apart, so a value does.

asyncssh reports a connection that dies under a command as its normal end, with `exit_status` None; and bytes that are
not UTF-8 end the whole connection unless the channel carries bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Mapping
from dataclasses import dataclass

import asyncssh

from console.remote.scripts import SHELL, cut

# Nothing of ours says nearly as much; a host that does is flooding us.
OUTPUT_LIMIT = 64 * 1024 * 1024


# No echo, no line is waited for, no byte has a meaning or is changed on its way.
RAW = dict.fromkeys(
    (
        asyncssh.PTY_ECHO, asyncssh.PTY_ICANON, asyncssh.PTY_ISIG, asyncssh.PTY_IEXTEN, asyncssh.PTY_ICRNL,
        asyncssh.PTY_INLCR, asyncssh.PTY_IGNCR, asyncssh.PTY_IXON, asyncssh.PTY_IXOFF, asyncssh.PTY_ISTRIP,
        asyncssh.PTY_OPOST, asyncssh.PTY_ONLCR,
    ),
    0,
)  # fmt: skip


@dataclass(frozen=True)
class Exchange:
    """`started` False: nothing was sent. `exit_status` None: it was sent, and we cannot tell how it ended."""

    started: bool
    exit_status: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    trouble: str = ""
    timed_out: bool = False

    def sections(self, mark: str) -> Mapping[str, bytes]:
        return cut(self.stdout, mark)


class _FloodError(Exception):
    pass


async def exchange(
    connection: asyncssh.SSHClientConnection, script: bytes, *, timeout_s: float, name: str = "", terminal: bool = False
) -> Exchange:
    """Run a rendered script. Never raises for what the connection does; a cancelled wait closes the channel.

    `name` stands in the shell's own command line on the host, so that it can be found there.
    """
    command = f"{SHELL} {name}" if name else SHELL
    try:
        process = await start(connection, command, terminal=terminal)
    except (asyncssh.Error, OSError) as error:
        return Exchange(started=False, exit_status=None, trouble=str(error) or type(error).__name__)
    stdout, stderr = bytearray(), bytearray()
    trouble, timed_out = "", False
    try:
        async with asyncio.timeout(timeout_s):
            process.stdin.write(script)
            if not terminal:  # which knows no end
                process.stdin.write_eof()
            await asyncio.gather(_drain(process.stdout, stdout), _drain(process.stderr, stderr))
            await process.wait_closed()
    except TimeoutError:
        timed_out, trouble = True, f"no end within {timeout_s:g} s"
    except _FloodError:
        trouble = f"more than {OUTPUT_LIMIT // 1024 // 1024} MiB of output"
    except (asyncssh.Error, OSError, EOFError) as error:
        trouble = str(error) or type(error).__name__
    finally:
        with contextlib.suppress(asyncssh.Error, OSError):
            process.close()
    status = None if trouble else _status(process)
    return Exchange(
        started=True,
        exit_status=status,
        stdout=bytes(stdout),
        stderr=bytes(stderr),
        trouble=trouble or ("" if status is not None else "the connection was lost"),
        timed_out=timed_out,
    )


async def start(
    connection: asyncssh.SSHClientConnection, command: str, *, terminal: bool
) -> asyncssh.SSHClientProcess[bytes]:
    """A process on the host. With a terminal its stderr comes with its stdout; nothing else is done to its bytes."""
    if not terminal:
        return await connection.create_process(command, encoding=None, request_pty=False, stderr=asyncssh.PIPE)
    return await connection.create_process(
        command, encoding=None, request_pty="force", term_type="dumb", term_modes=RAW
    )


async def _drain(stream: asyncssh.SSHReader[bytes], into: bytearray) -> None:
    while chunk := await stream.read(65536):
        into += chunk
        if len(into) > OUTPUT_LIMIT:
            raise _FloodError


def _status(process: asyncssh.SSHClientProcess[bytes]) -> int | None:
    """The exit status as a shell would tell it: 128 and the signal's number for a killed one; None if nobody said."""
    if process.exit_signal is not None:
        number = getattr(signal, f"SIG{process.exit_signal[0]}", None)
        return 128 + int(number) if number is not None else 255
    return process.exit_status
