"""A command on the machine of the console itself: a balancer's hook, an evaluation of the operator's own."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

TIMED_OUT = 124  # as timeout(1) says it
KEPT_BYTES = 65536


@dataclass(frozen=True)
class SaidHere:
    """How a command ended, and the last of what it printed; its complaints stand among it, unless they were apart."""

    status: int
    output: bytes
    complaints: bytes = b""


async def run_here(
    command: str, timeout_s: float, more: Mapping[str, str] | None = None, *, apart: bool = False
) -> SaidHere:
    """Run a line of shell, with `more` in its environment; stopped or late, it is ended with all it started.

    `apart`: what it writes to stderr is kept for itself.
    """
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            "sh",
            "-c",
            command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if apart else asyncio.subprocess.STDOUT,
            env={**os.environ, **(more or {})},
            start_new_session=True,
        )
    )
    try:
        # A stop while it starts would end the shell alone, and not what that has started.
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _end(await starting)
        raise
    output, complaints = bytearray(), bytearray()
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.gather(_last_of(process.stdout, output), _last_of(process.stderr, complaints))
            await process.wait()
    except BaseException as error:
        await _end(process)
        if not isinstance(error, TimeoutError):
            raise
        return SaidHere(TIMED_OUT, bytes(output), bytes(complaints))
    return SaidHere(process.returncode or 0, bytes(output), bytes(complaints))


async def _last_of(stream: asyncio.StreamReader | None, kept: bytearray) -> None:
    while stream is not None and (block := await stream.read(KEPT_BYTES)):
        kept += block
        del kept[:-KEPT_BYTES]


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
