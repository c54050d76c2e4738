"""Textual's terminal driver, made to survive a terminal that goes away."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import IO, Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver


class LosableFile:
    """The terminal as a file; once a write fails it swallows everything, and says so once.

    textual: its writer thread dies of that OSError, and the program then waits for ever to put the next frame into
    the thread's full queue, deaf to every signal.
    """

    def __init__(self, file: IO[str], lost: Callable[[], None]) -> None:
        self._file = file
        self._lost = lost
        self._gone = False

    def write(self, text: str) -> int:
        self._try(lambda: self._file.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(self._file.flush)

    def fileno(self) -> int:
        return self._file.fileno()

    def isatty(self) -> bool:
        return self._file.isatty()

    def _try(self, act: Callable[[], object]) -> None:
        if self._gone:
            return
        try:
            act()
        except (OSError, ValueError):
            self._gone = True
            self._lost()


class TerminalDriver(LinuxDriver):
    """Ends the app when its terminal is gone, whether or not a signal says so."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        loop = asyncio.get_running_loop()
        lost: Callable[[], None] = getattr(app, "terminal_lost", app.exit)
        self._file = LosableFile(sys.__stderr__, lambda: loop.call_soon_threadsafe(lost))  # type: ignore[assignment,arg-type]
