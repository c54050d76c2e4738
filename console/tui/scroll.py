"""Boxes of text and tables that move with the same keys everywhere."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.scrollbar import ScrollBarRender
from textual.widget import Widget
from textual.widgets import Log

_MOVES: list[BindingType] = [
    Binding("j", "scroll_down", show=False),
    Binding("k", "scroll_up", show=False),
    Binding("g", "scroll_home", show=False),
    Binding("G", "scroll_end", show=False),
]


class PlainBar(ScrollBarRender):
    """A scroll bar without the block characters that a terminal may not have: its thumb ends at whole lines."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8


def plain_bar(widget: Widget) -> None:
    """With --ascii."""
    if widget.app.has_class("-ascii"):
        widget.vertical_scrollbar.renderer = PlainBar  # type: ignore[misc]


class Scroll(VerticalScroll):
    """A box that takes the focus, so that its keys reach what does not fit."""

    BINDINGS: ClassVar[list[BindingType]] = _MOVES

    def on_mount(self) -> None:
        plain_bar(self)


class LineLog(Log):
    """Lines that may come by the thousand; written in batches only (a line at a time starts a thread each)."""

    BINDINGS: ClassVar[list[BindingType]] = _MOVES

    def on_mount(self) -> None:
        plain_bar(self)
