"""A terminal that redraws: lines that stay, and below them what goes on now. The only user of Rich, loaded late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from console.views.lines import Line, Tone

REDRAW_S = 0.2
SPINNER = "|/-\\"
STYLES: dict[Tone, str] = {
    "head": "bold",
    "good": "green",
    "warn": "yellow",
    "bad": "bold red",
    "dim": "dim",
}


class Screen:
    """Text is taken as it is: cleaned and masked before, never read as Rich's markup.

    Redrawing is done by the event loop, not by a thread of Rich's, so that what is shown never lies between two events.
    """

    def __init__(self, stream: TextIO, width: int) -> None:
        self.console = Console(
            file=stream, force_terminal=True, width=width, markup=False, highlight=False, emoji=False
        )
        self.live: Live | None = None
        self.source: Callable[[], Sequence[str]] = tuple
        self.timer: asyncio.TimerHandle | None = None
        self.turn = 0

    def tell(self, said: Sequence[Line], going_on: Callable[[], Sequence[str]]) -> None:
        """Lines that stay, above what goes on now; that is asked for again until there is none, or `clear`."""
        self.source = going_on
        now = self._going_on()
        if now is None:
            self.clear()
        elif self.live is not None:
            self.live.update(now)
        if said:
            text = Text("\n").join(Text(line.text, style=STYLES.get(line.tone, "")) for line in said)
            # Soft: a command is longer than the screen at times, and is copied.
            self.console.print(text, soft_wrap=True)
        if now is not None:
            self._draw(now)

    def clear(self) -> None:
        """Take away what goes on, and leave the cursor where the next line begins."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if self.live is not None:
            self.live.stop()
            self.live = None

    def _going_on(self) -> Group | None:
        said = list(self.source())
        self.turn += 1
        mark = SPINNER[self.turn % len(SPINNER)]
        rows = [Text(f"{mark} {text}", style="cyan", no_wrap=True, overflow="ellipsis") for text in said]
        return Group(*rows) if rows else None

    def _draw(self, now: Group) -> None:
        if self.live is None:
            self.live = Live(
                now,
                console=self.console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self.live.start()
            # A process that is killed could not show it again.
            self.console.show_cursor(True)
        self.live.update(now, refresh=True)
        if self.timer is None:
            # Told without a loop, each event redraws and time does not.
            with suppress(RuntimeError):
                self.timer = asyncio.get_running_loop().call_later(REDRAW_S, self._again)

    def _again(self) -> None:
        self.timer = None
        now = self._going_on()
        try:
            if now is None:
                self.clear()
            else:
                self._draw(now)
        except OSError:
            self.live = None  # the terminal is gone; the run goes on
