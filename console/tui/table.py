"""Tables of the screens: columns that are dropped when it gets narrow, rows with keys, and the filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import DataTable
from textual.widgets.data_table import RowKey

from console.tui.scroll import plain_bar
from console.views.cells import cells, cut
from console.views.plain import to_ascii


@dataclass(frozen=True)
class Column:
    """`drop`: 0 stays; of the others the highest number goes first. `grow`: takes what is left over."""

    name: str
    width: int
    drop: int = 0
    grow: bool = False


@dataclass(frozen=True)
class Row:
    """`cells` by the column's name; `styles` colour some of them; `order` is what the screen sorts by of itself."""

    key: str
    cells: dict[str, str]
    styles: dict[str, str] = field(default_factory=dict)
    order: tuple[object, ...] = ()


def fitting(columns: Sequence[Column], width: int) -> list[tuple[Column, int]]:
    """The columns that fit into `width` cells, each with one blank before it, and their widths."""
    kept = list(columns)
    while sum(column.width + 1 for column in kept) > width and any(column.drop for column in kept):
        kept.remove(max(kept, key=lambda column: column.drop))
    spare = max(0, width - sum(column.width + 1 for column in kept))
    growing = [column for column in kept if column.grow]
    share = min(24, spare // len(growing)) if growing else 0
    return [(column, column.width + (share if column.grow else 0)) for column in kept]


def matches(row: Row, query: str) -> bool:
    """Whether all words of a filter fit: `word` in any cell, `!word` in none, `column:word` in that column."""
    for word in query.casefold().split():
        without, wanted = word.startswith("!"), word.removeprefix("!")
        name, colon, rest = wanted.partition(":")
        named = [text for column, text in row.cells.items() if colon and column and column.casefold().startswith(name)]
        texts = named or list(row.cells.values())
        sought = rest if named else wanted
        if not sought:
            continue
        if any(sought in text.casefold() for text in texts) == without:
            return False
    return True


class KeyedTable(DataTable[Text]):
    """The cursor stays on its row whatever is added, taken away or sorted; only rows that changed are drawn again.

    textual draws every visible cell again, through Rich's layout, when one of them changes: with hundreds of targets
    that was most of its cost at rest, and what a key had to wait for. Here a row is one line of plain cells.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("g", "scroll_top", show=False),
        Binding("G", "scroll_bottom", show=False),
    ]

    def __init__(self, id: str) -> None:  # noqa: A002 - the name of textual
        super().__init__(id=id, cursor_type="row", cell_padding=0)
        self._shown: list[tuple[str, int]] = []
        self._said: list[tuple[str, Sequence[Text]]] = []
        self._drawn: dict[int, tuple[Sequence[Text], tuple[object, ...], Strip]] = {}

    _drawn_in = Style()

    def on_mount(self) -> None:
        plain_bar(self)

    @property
    def chosen(self) -> str:
        """The key of the row under the cursor."""
        if not self.row_count:
            return ""
        return str(self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value)

    def show(self, columns: Sequence[tuple[Column, int]], rows: Sequence[tuple[str, Sequence[Text]]]) -> None:
        """Make the table say this; rows as (key, one cell a column). A row of before costs nothing."""
        wanted = [(column.name, width) for column, width in columns]
        before = self.chosen
        if wanted != self._shown:
            self.clear(columns=True)
            self._said = []
            for name, width in wanted:
                self.add_column(Text(name), key=name or "glyph", width=width + 1)
            self._shown = wanted
        keys = [key for key, _ in rows]
        if keys == [key for key, _ in self._said]:
            for index, (old, new) in enumerate(zip(self._said, rows, strict=True)):
                if old[1] is not new[1]:
                    self._say(index, *new)
            self._said = list(rows)
            return
        self._said = list(rows)
        offset = self.scroll_offset.y
        self.clear()
        self._drawn.clear()
        for key, row in rows:
            self.add_row(*(cell for cell in row), key=key)
        if before in keys:
            self.move_cursor(row=keys.index(before), scroll=False)
            self.scroll_to(y=offset, animate=False)

    def _say(self, index: int, key: str, row: Sequence[Text]) -> None:
        """Into the cells that say something else now; `update_cell` would draw all of the table for each."""
        told = self._data[RowKey(key)]
        different = [
            (column, cell)
            for column, cell in zip(tuple(told), row, strict=True)
            if told[column] is not cell and told[column] != cell
        ]
        if different:
            for column, cell in different:
                told[column] = cell
            self._drawn.pop(index, None)
            if 0 <= index - self.scroll_offset.y < self.size.height:
                self.refresh_row(index)

    def notify_style_update(self) -> None:
        self._drawn.clear()
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._drawn_in = self.rich_style  # textual finds it out again for every line
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        across, down = self.scroll_offset
        shown = y + down if y >= self.header_height else y
        return self._render_line(shown, across, across + self.size.width, self._drawn_in)

    def _render_line(self, y: int, x1: int, x2: int, base_style: Style) -> Strip:
        index = y - self.header_height
        if not 0 <= index < len(self._said):
            return super()._render_line(y, x1, x2, base_style)
        cursor = self.show_cursor and index == self.cursor_row
        hover = self._show_hover_cursor and index == self.hover_row
        row = self._said[index][1]
        place = (x1, x2, self.size.width, base_style, cursor, hover, self._pseudo_class_state)
        before = self._drawn.get(index)
        if before is not None and before[0] is row and before[1] == place:
            return before[2]
        strip = self._line(index, row, base_style, cursor=cursor, hover=hover).crop(x1, x2)
        strip = strip.adjust_cell_length(self.size.width, base_style)
        self._drawn[index] = (row, place, strip)
        return strip

    def _line(self, index: int, row: Sequence[Text], base_style: Style, *, cursor: bool, hover: bool) -> Strip:
        """One row. A press of the mouse finds it by what its style carries, as in textual's own lines."""
        above, after = self._get_styles_to_render_cell(
            False, False, False, hover, cursor, self.show_cursor, self._show_hover_cursor,
            self.cursor_foreground_priority == "css", self.cursor_background_priority == "css",
        )  # fmt: skip
        below = self._get_row_style(index, base_style) + above
        meta = Style.from_meta({"row": index, "column": 0})
        plain = self.app.has_class("-ascii")
        empty = below + after + meta
        segments = []
        for (_, width), cell in zip(self._shown, row, strict=True):
            text = cut(cell.plain, width + 1)
            said = to_ascii(text) if plain else text
            blanks = " " * (width + 1 - cells(text))
            if cell.style:
                # The blanks behind it stay without: under the cursor, reversed, they would be a bar of its colour.
                segments.append(Segment(said, below + Style.parse(str(cell.style)) + after + meta))
                said = ""
            segments.append(Segment(said + blanks, empty))
        rest = self.size.width - sum(width + 1 for _, width in self._shown)
        edge = Style.from_meta({"row": index, "column": 0, "out_of_bounds": True})
        return Strip([*segments, Segment(" " * max(0, rest), below + edge)])
