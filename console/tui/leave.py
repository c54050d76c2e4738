"""Leaving while a run goes on: it goes on by itself, and how to come back to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from console.tui.actions import bindings, key_line


class LeaveScreen(ModalScreen[bool]):
    """Dismissed with True to leave."""

    NAME: ClassVar[str] = "leave"
    BINDINGS: ClassVar[list[BindingType]] = bindings("leave")

    def __init__(self, runs: Sequence[str]) -> None:
        super().__init__()
        self.runs = runs

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="box", can_focus=False):
            yield Static(Content("\n".join(going_on(self.runs))))
        yield Static(Content(f" {key_line(self.NAME)}"), id="keys")

    def action_go(self) -> None:
        self.dismiss(True)

    def action_back(self) -> None:
        self.dismiss(False)


def going_on(runs: Sequence[str]) -> list[str]:
    """What is said before and after leaving."""
    said = [f"run {run} goes on by itself." for run in runs]
    return [*said, "Come back to it with: console (it opens there), or look with: console runs"]
