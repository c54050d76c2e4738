"""Tables of the screens: columns that are dropped when it gets narrow, rows with keys, and the filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from console.tui.scroll import plain_bar


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
    """The cursor stays on its row whatever is added, taken away or sorted; only cells that changed are written."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("g", "scroll_top", show=False),
        Binding("G", "scroll_bottom", show=False),
    ]

    def __init__(self, id: str) -> None:  # noqa: A002 - the name of textual
        super().__init__(id=id, cursor_type="row", cell_padding=0)
        self._shown: list[tuple[str, int]] = []
        self._drawn: dict[tuple[object, ...], tuple[Text, list[list[Segment]]]] = {}

    def on_mount(self) -> None:
        plain_bar(self)

    @property
    def chosen(self) -> str:
        """The key of the row under the cursor."""
        if not self.row_count:
            return ""
        return str(self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value)

    def show(self, columns: Sequence[tuple[Column, int]], rows: Sequence[tuple[str, Sequence[Text]]]) -> None:
        """Make the table say this; rows as (key, one cell a column)."""
        wanted = [(column.name, width) for column, width in columns]
        before = self.chosen
        if wanted != self._shown:
            self.clear(columns=True)
            self._drawn.clear()
            for name, width in wanted:
                self.add_column(Text(name), key=name or "glyph", width=width + 1)
            self._shown = wanted
        if [key.value for key in self.rows] == [key for key, _ in rows] and self._in_order(rows):
            for key, row in rows:
                for (name, _), cell in zip(wanted, row, strict=True):
                    before_cell = self.get_cell(key, name or "glyph")
                    if before_cell is not cell and before_cell != cell:
                        self.update_cell(key, name or "glyph", cell)
            return
        offset = self.scroll_offset.y
        self.clear()
        for key, row in rows:
            self.add_row(*(cell for cell in row), key=key)
        keys = [key for key, _ in rows]
        if before in keys:
            self.move_cursor(row=keys.index(before), scroll=False)
            self.scroll_to(y=offset, animate=False)

    def notify_style_update(self) -> None:
        self._drawn.clear()
        super().notify_style_update()

    def _render_cell(
        self,
        row_index: int,
        column_index: int,
        base_style: Style,
        width: int,
        cursor: bool = False,
        hover: bool = False,
    ) -> list[list[Segment]]:
        """As textual's, which forgets every cell when one changes: here a cell is drawn again when it says another."""
        if row_index < 0 or column_index < 0:
            return super()._render_cell(row_index, column_index, base_style, width, cursor, hover)
        row_key, column_key = self._row_locations.get_key(row_index), self._column_locations.get_key(column_index)
        if row_key is None or column_key is None:
            return super()._render_cell(row_index, column_index, base_style, width, cursor, hover)
        cell = self._data[row_key][column_key]
        place = (row_index, column_index, base_style, width, cursor, hover, self._show_hover_cursor,
                 self._pseudo_class_state)  # fmt: skip
        before = self._drawn.get(place)
        if before is not None and before[0] is cell:
            return before[1]
        lines = super()._render_cell(row_index, column_index, base_style, width, cursor, hover)
        self._drawn[place] = (cell, lines)
        return lines

    def _in_order(self, rows: Sequence[tuple[str, Sequence[Text]]]) -> bool:
        return all(row.key.value == key for row, (key, _) in zip(self.ordered_rows, rows, strict=True))
