"""Boxes of text and tables that move with the same keys everywhere."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Region
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Log

from console.views.cells import cells

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
    """Lines that may come by the thousand; written in batches only (a line at a time starts a thread each).

    textual makes a Rich text of every line it draws, finds out the style anew for each, and measures all that come in
    a thread: under a flood that is most of what a key has to wait for.
    """

    BINDINGS: ClassVar[list[BindingType]] = _MOVES
    _drawn_in = Style()

    def on_mount(self) -> None:
        plain_bar(self)

    def _update_size(self, updates: int, lines: list[str]) -> None:  # type: ignore[override]
        """Nothing is wider than the box, for nothing moves sideways in it."""

    def render_lines(self, crop: Region) -> list[Strip]:
        self._drawn_in = self.rich_style
        return super().render_lines(crop)

    def _render_line(self, y: int, scroll_x: int, width: int) -> Strip:
        if y >= len(self._lines) or self.text_selection is not None:
            return super()._render_line(y, scroll_x, width)
        text = self._process_line(self._lines[y])
        strip = Strip([Segment(text, self._drawn_in)], cells(text))
        return strip.crop_extend(scroll_x, scroll_x + width, self._drawn_in).apply_offsets(scroll_x, y)
