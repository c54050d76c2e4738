"""A question that one line typed in full answers."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Input, Static

from console.tui.quiet import QuietModal
from console.tui.scroll import Scroll


class TypedModal(QuietModal[ScreenResultType]):
    """`asked` is shown above the line; Enter does the action WHEN_TYPED, which judges what was typed."""

    NAME: ClassVar[str] = ""
    WHEN_TYPED: ClassVar[str] = ""
    hidden = False

    def asked(self) -> list[str]:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        with Scroll(id="box", can_focus=False):
            yield Static(self.say("\n".join(self.asked())))
            yield Input(id="host", compact=True, disabled=True, password=self.hidden)
            yield Static(Content("one moment"), id="wrong")
        yield Static(self.keys_content(self.app.size.width), id="keys")

    def on_armed(self) -> None:
        field = self.query_one("#host", Input)
        field.disabled = False
        field.focus()
        self.wrong("")

    async def on_input_submitted(self, _event: Input.Submitted) -> None:
        await self.action_do(self.WHEN_TYPED)

    def typed(self) -> str:
        return self.query_one("#host", Input).value.strip()

    def wrong(self, text: str) -> None:
        """Say why it is no answer."""
        self.query_one("#wrong", Static).update(self.say(text))
