"""What every screen has: a title bar, its body, and a line of the keys that work here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from console.tui.actions import key_line
from console.tui.help import HelpScreen
from console.tui.session import Session
from console.untrusted import one_line
from console.views.cells import cells, cut, pad


class FrameScreen(Screen[None]):
    """A full screen. Text reaches a widget only through `say` and `cell`, which never read markup."""

    NAME: ClassVar[str] = ""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._title: tuple[str, str] = ("console", "")

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        yield from self.body()
        yield Static(id="keys")

    def body(self) -> Iterable[Widget]:
        """The widgets between title and keys."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self.show_title(*self._title)
        self.show_keys()

    def on_resize(self) -> None:
        self.show_title(*self._title)
        self.show_keys()

    def show_title(self, left: str, right: str = "") -> None:
        """The bar at the top: what this is, and at the right end how it stands."""
        self._title = (left, right)
        width = self.app.size.width
        right_text = cut(one_line(self.session.safe(right)), width // 2)
        room = max(10, width - cells(right_text) - 2)
        self.query_one("#title", Static).update(
            Content(pad(f" {one_line(self.session.safe(left))}", room) + f" {right_text} ")
        )

    def show_keys(self) -> None:
        line = key_line(self.NAME, self.off())
        self.query_one("#keys", Static).update(Content(f" {line}"))

    @property
    def room(self) -> int:
        """Columns of text in a padded box with its scroll bar."""
        return max(40, self.app.size.width - 3)

    def off(self) -> set[str]:
        """Actions that do nothing now, and are not shown."""
        return set()

    def say(self, text: str) -> Content:
        return Content(self.session.safe(text))

    def cell(self, text: str) -> Text:
        """One cell of a table: DataTable would read a str as markup."""
        return Text(one_line(self.session.safe(text)), no_wrap=True, overflow="ellipsis")

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.NAME))

    def action_back(self) -> None:
        self.app.pop_screen()

    async def action_quit(self) -> None:
        await self.app.action_quit()
