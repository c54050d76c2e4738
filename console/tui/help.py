"""The keys of a screen, with the command that does the same without this UI."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from console.tui.acting import ActingModal
from console.tui.actions import Situation, actions_of
from console.tui.keys import KeyMap, bindings, shown_key
from console.tui.scroll import Scroll
from console.tui.session import Session
from console.views.cells import wrap

WIDTH = 72


class HelpScreen(ActingModal[None]):
    """Opened with `?` on any screen."""

    NAME: ClassVar[str] = "help"
    BINDINGS: ClassVar[list[BindingType]] = bindings("help")

    def __init__(self, session: Session, of: str, now: Situation) -> None:
        super().__init__(session)
        self.of = of
        self.now = now

    def compose(self) -> ComposeResult:
        width = min(WIDTH, self.app.size.width - 8)
        with Scroll(id="box"):
            yield Static(self.say("\n".join(help_lines(self.of, width, self.now, self.keymap))))
        yield Static(self.keys_content(self.app.size.width), id="keys")

    def action_back(self) -> None:
        self.dismiss(None)


def help_lines(
    screen: str, width: int = WIDTH, now: Situation | None = None, keymap: KeyMap | None = None
) -> list[str]:
    """One entry an action: key, what it does, the command of the same effect, and why it is off where it is."""
    said = wrap(f"Keys of this screen ({screen}); arrows, j k g G, PgUp, PgDn, Home, End, Tab move", width)
    said.append("")
    for action in actions_of(screen):
        mark = " (changes the host)" if action.mutates else ""
        said += wrap(f"{action.title}: {action.help}{mark}", width, first=f"  {shown_key(action, screen, keymap):<7} ")
        if action.cli:
            said += wrap(f"without this UI: {action.cli}", width, first=" " * 10, rest=" " * 12)
        reason = action.off(now) if now is not None else ""
        if reason:
            said += wrap(f"off now: {reason}", width, first=" " * 10, rest=" " * 12)
    return [*said, "", *wrap("Selecting with the mouse: hold Shift, or start with --no-mouse.", width)]
