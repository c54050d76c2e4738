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
    """How a command ended, and the last of what it printed; its complaints stand among it."""

    status: int
    output: bytes


async def run_here(command: str, timeout_s: float, more: Mapping[str, str] | None = None) -> SaidHere:
    """Run a line of shell, with `more` in its environment; stopped or late, it is ended with all it started."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            "sh",
            "-c",
            command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
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
    assert process.stdout is not None
    said = b""
    try:
        async with asyncio.timeout(timeout_s):
            while block := await process.stdout.read(KEPT_BYTES):
                said = (said + block)[-KEPT_BYTES:]
            await process.wait()
    except BaseException as error:
        await _end(process)
        if not isinstance(error, TimeoutError):
            raise
        return SaidHere(TIMED_OUT, said)
    return SaidHere(process.returncode or 0, said)


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
