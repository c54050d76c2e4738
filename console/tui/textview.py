"""A text to read: what a command of the command line said, or what a view made."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from console.errors import ConsoleError
from console.tui.frame import FrameScreen
from console.tui.keys import bindings
from console.tui.said import ask
from console.tui.scroll import Scroll
from console.tui.session import Session
from console.tui.workers import work

Source = Callable[[int], Awaitable[str]]


class TextScreen(FrameScreen):
    """`source` is asked for the text of a width, at the start and each time it is read again."""

    NAME: ClassVar[str] = "text"
    BINDINGS: ClassVar[list[BindingType]] = bindings("text")

    def __init__(self, session: Session, title: str, source: Source, command: str) -> None:
        super().__init__(session)
        self.what = title
        self.source = source
        self.command = command
        self.text = ""

    def body(self) -> Iterable[Widget]:
        with Scroll(id="plan"):
            yield Static(id="text")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#plan").focus()
        self.action_again()

    def action_again(self) -> None:
        self.show_title(self.what, "reading…")
        work(self, self._read, "text")

    async def _read(self) -> None:
        try:
            self.text = await self.source(self.room)
        except (ConsoleError, OSError) as error:
            self.text = str(error)
        self.show_title(self.what, "")
        self.query_one("#text", Static).update(self.say(self.text or "nothing was said"))

    def same_command(self) -> str:
        return self.command

    def whole_text(self) -> str:
        return self.text


def of_command(session: Session, words: Sequence[str]) -> TextScreen:
    """What `console WORDS` says."""

    async def source(width: int) -> str:
        said = await ask(words, session.inventory_path, session.environment, width, session.answers)
        return said.text if said.code == 0 else f"{said.text.rstrip()}\n\nexit {said.code}"

    command = f"console {shlex.join(words)}"
    return TextScreen(session, command, source, command)
