"""Leaving while a run goes on: it goes on by itself, and how to come back to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from console.tui.acting import ActingModal
from console.tui.keys import bindings
from console.tui.scroll import Scroll
from console.tui.session import Session


class LeaveScreen(ActingModal[bool]):
    """Dismissed with True to leave."""

    NAME: ClassVar[str] = "leave"
    BINDINGS: ClassVar[list[BindingType]] = bindings("leave")

    def __init__(self, session: Session, runs: Sequence[str]) -> None:
        super().__init__(session)
        self.runs = runs

    def compose(self) -> ComposeResult:
        with Scroll(id="box", can_focus=False):
            yield Static(
                self.say("\n".join([*going_on(self.runs), "", "To stop it instead: Esc, then x on its screen."]))
            )
        yield Static(self.keys_content(self.app.size.width), id="keys")

    def action_go(self) -> None:
        self.dismiss(True)

    def action_back(self) -> None:
        self.dismiss(False)


def going_on(runs: Sequence[str]) -> list[str]:
    """What is said before and after leaving."""
    said = [f"run {run} goes on by itself." for run in runs]
    return [*said, "Come back to it with: console (it opens there), or look with: console runs"]
