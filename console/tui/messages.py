"""Everything that was said at the bottom of the screen: what passes there is gone in seconds."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from console.tui.acting import ActingModal
from console.tui.keys import bindings
from console.tui.scroll import Scroll
from console.views.cells import wrap
from console.views.figures import clock_s


class MessagesScreen(ActingModal[None]):
    """Newest first."""

    NAME: ClassVar[str] = "messages"
    BINDINGS: ClassVar[list[BindingType]] = bindings("messages")

    def compose(self) -> ComposeResult:
        width = min(100, self.app.size.width - 8)
        said = [
            line
            for message in reversed(self.session.messages)
            for line in wrap(message.text, width, first=f"{clock_s(message.at)}  ")
        ]
        with Scroll(id="box"):
            yield Static(self.say("\n".join(said) or "nothing was said yet"))
        yield Static(self.keys_content(self.app.size.width), id="keys")

    def action_back(self) -> None:
        self.dismiss(None)
