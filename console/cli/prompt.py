"""One line typed at a terminal, without holding up the loop."""

from __future__ import annotations

import asyncio
import os
import termios
from contextlib import suppress

LONGEST_LINE = 4096


def in_foreground(descriptor: int) -> bool:
    """Whether this process may read the terminal: one in the background would be stopped for trying (SIGTTIN)."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        # Not our controlling terminal, so there is no job control that could stop us.
        return os.isatty(descriptor)


def discard_typed(descriptor: int) -> None:
    """Throw away what was typed before a question was shown: it answers something else."""
    with suppress(termios.error, OSError):
        termios.tcflush(descriptor, termios.TCIFLUSH)


async def read_line(descriptor: int) -> str | None:
    """The next line without its end; None for the end of input, a lost terminal or a line without end.

    The descriptor stays blocking, since that flag is shared with whoever else has this terminal open: it is read only
    when there is something to read.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str | None] = loop.create_future()
    typed = bytearray()
    try:
        own = os.dup(descriptor)
    except OSError:
        return None

    def finish(line: str | None) -> None:
        if not done.done():
            done.set_result(line)

    def readable() -> None:
        try:
            data = os.read(own, LONGEST_LINE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            finish(None)
            return
        typed.extend(data)
        line, end, _ = bytes(typed).partition(b"\n")
        if end:
            finish(line.decode("utf-8", "replace"))
        elif not data or len(typed) > LONGEST_LINE:
            finish(None)

    try:
        loop.add_reader(own, readable)
    except OSError:  # a regular file cannot be polled
        os.close(own)
        return None
    try:
        return await done
    finally:
        loop.remove_reader(own)
        os.close(own)
