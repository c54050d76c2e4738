"""Boxes of text and tables that move with the same keys everywhere."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Log

_MOVES: list[BindingType] = [
    Binding("j", "scroll_down", show=False),
    Binding("k", "scroll_up", show=False),
    Binding("g", "scroll_home", show=False),
    Binding("G", "scroll_end", show=False),
]


class Scroll(VerticalScroll):
    """A box that takes the focus, so that its keys reach what does not fit."""

    BINDINGS: ClassVar[list[BindingType]] = _MOVES


class LineLog(Log):
    """Lines that may come by the thousand; written in batches only (a line at a time starts a thread each)."""

    BINDINGS: ClassVar[list[BindingType]] = _MOVES
