"""The keys of a screen, with the command that does the same without this UI."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from console.tui.actions import actions_of, bindings, key_line, shown_key
from console.views.cells import wrap

WIDTH = 72


class HelpScreen(ModalScreen[None]):
    """Opened with `?` on any screen."""

    NAME: ClassVar[str] = "help"
    BINDINGS: ClassVar[list[BindingType]] = bindings("help")

    def __init__(self, of: str) -> None:
        super().__init__()
        self.of = of

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="box"):
            yield Static(Content("\n".join(help_lines(self.of))))
        yield Static(Content(f" {key_line(self.NAME)}"), id="keys")

    def action_back(self) -> None:
        self.dismiss(None)


def help_lines(screen: str, width: int = WIDTH) -> list[str]:
    """One entry an action: key, what it does, and the command of the same effect."""
    said = [f"Keys of this screen ({screen}); arrows, PgUp, PgDn, Home, End, Tab move", ""]
    for action in actions_of(screen):
        mark = " (changes the host)" if action.mutates else ""
        said += wrap(f"{action.title}: {action.help}{mark}", width, first=f"  {shown_key(action, screen):<7} ")
        if action.cli:
            said += wrap(f"without this UI: {action.cli}", width, first=" " * 10, rest=" " * 12)
    return [*said, "", "Copying: hold Shift while selecting with the mouse, or use the commands."]
