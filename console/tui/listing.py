"""A mode's first screen: a table above, what is under the cursor below, with filter, sorting, marks and zoom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import DataTable, Input, Static

from console.tui.actions import Situation
from console.tui.copy import Copyable
from console.tui.frame import FrameScreen
from console.tui.scroll import Scroll
from console.tui.session import Session
from console.tui.table import Column, KeyedTable, Row, fitting, matches
from console.views.cells import cells

MARKED = "*"
# A cursor that stays on a row this long has been put there; a key that is held down passes some thirty rows a second.
SETTLED_S = 0.06


class FilterInput(Input):
    """Esc takes the filter away, Enter keeps it."""

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.value = ""
            self.post_message(self.Submitted(self, ""))


class ListingScreen(FrameScreen):
    """What a mode of it says: `COLUMNS`, `rows`, `about`, `heading`."""

    COLUMNS: ClassVar[tuple[Column, ...]] = ()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.query_text = ""
        self.sorted_by = ""
        self.marked: list[str] = []
        self.all_rows: list[Row] = []
        self._made: dict[tuple[str, str], tuple[str, str, Text]] = {}
        self._lines: dict[str, tuple[Row, object, bool, list[Text]]] = {}
        self._columns: Sequence[tuple[Column, int]] = ()
        self._about_later: Timer | None = None

    def rows(self) -> list[Row]:
        raise NotImplementedError

    def about(self, key: str) -> str:
        """What is known of the row under the cursor; of none where `key` is empty."""
        raise NotImplementedError

    def heading(self, shown: int) -> tuple[str, str]:
        """The title's two ends."""
        raise NotImplementedError

    def body(self) -> Iterable[Widget]:
        yield KeyedTable(id="rows")
        with Scroll(id="detail"):
            yield Static(id="about")
        yield FilterInput(id="filter", compact=True, placeholder="words; !without; column:word", disabled=True)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#rows", KeyedTable).focus()
        self.show_rows()

    def on_resize(self) -> None:
        super().on_resize()
        self.show_rows()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self.show_rows()

    @property
    def chosen(self) -> str:
        return self.query_one("#rows", KeyedTable).chosen if self.ready else ""

    def shown_rows(self) -> list[Row]:
        rows = [row for row in self.all_rows if matches(row, self.query_text)]
        if self.sorted_by:
            return sorted(rows, key=lambda row: _natural(row.cells.get(self.sorted_by, "")))
        return sorted(rows, key=lambda row: row.order) if rows and rows[0].order else rows

    def show_rows(self) -> None:
        if not self.ready:
            return
        self.all_rows = self.rows()
        columns = fitting(self.COLUMNS, self.app.size.width - 1)
        if columns != self._columns:
            self._columns = columns
        shown = self.shown_rows()
        table = self.query_one("#rows", KeyedTable)
        table.show(self._columns, [(row.key, self._line(row)) for row in shown])
        left, right = self.heading(len(shown))
        # First, because a title is cut at its end: rows that are hidden must not be forgotten.
        filtered = f"/{self.query_text} {len(shown)} of {len(self.all_rows)}; " if self.query_text else ""
        ordered = f"by {self.sorted_by}; " if self.sorted_by else ""
        self.show_title(f"{filtered}{ordered}{left}", right)
        if self._about_later is None:
            self.show_about()

    def _line(self, row: Row) -> list[Text]:
        """The cells of before for a row of before: the table then does not even look at them."""
        marked = row.key in self.marked
        before = self._lines.get(row.key)
        if before is not None and before[0] is row and before[1] is self._columns and before[2] == marked:
            return before[3]
        made = self._cells(row)
        self._lines[row.key] = (row, self._columns, marked, made)
        return made

    def _cells(self, row: Row) -> list[Text]:
        said = []
        for column, width in self._columns:
            text = row.cells.get(column.name, "")
            if not column.name and row.key in self.marked:
                text = f"{MARKED}{text}"[:width] if cells(text) < width else f"{MARKED}{text[1:]}"
            said.append(self._made_cell((row.key, column.name), text, row.styles.get(column.name, "")))
        return said

    def _made_cell(self, place: tuple[str, str], text: str, style: str) -> Text:
        """The cell of before where it says the same: with hundreds of rows, masking them all each second is felt."""
        before = self._made.get(place)
        if before is not None and before[:2] == (text, style):
            return before[2]
        made = self.cell(text, style)
        self._made[place] = (text, style, made)
        return made

    def show_about(self) -> None:
        self._about_later = None
        self.put("#about", self.say(self.about(self.chosen)))
        self.show_keys()

    def on_data_table_row_highlighted(self, _event: DataTable.RowHighlighted) -> None:
        """The cursor first, for it is what the key asked for; of a row that is only passed nothing is told."""
        if self._about_later is not None:
            self._about_later.stop()
        self._about_later = self.set_timer(SETTLED_S, self.show_about)

    async def on_data_table_row_selected(self, _event: DataTable.RowSelected) -> None:
        await self.action_do("open")

    def situation(self) -> Situation:
        return replace(super().situation(), marked=len(self.marked))

    # -- what can be done in every list -----------------------------------------------------------------------------

    def action_filter(self) -> None:
        field = self.query_one("#filter", FilterInput)
        field.disabled = False
        self.add_class("-filtering")
        field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.query_text = event.value
        self.show_rows()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        self.query_one("#filter", FilterInput).disabled = True
        self.remove_class("-filtering")
        self.query_one("#rows", KeyedTable).focus()

    def action_back(self) -> None:
        """A list has nothing behind it: Esc takes away what hides rows."""
        self.query_one("#filter", FilterInput).value = ""
        self.query_text = ""
        self.remove_class("-zoomed")
        self.show_rows()

    def action_sort(self) -> None:
        names = ["", *(column.name for column, _ in fitting(self.COLUMNS, self.app.size.width - 1) if column.name)]
        self.sorted_by = names[(names.index(self.sorted_by) + 1) % len(names)] if self.sorted_by in names else ""
        self.show_rows()

    def action_mark(self) -> None:
        key = self.chosen
        if not key:
            return
        self.marked = [one for one in self.marked if one != key] if key in self.marked else [*self.marked, key]
        self.show_rows()

    def action_zoom(self) -> None:
        self.toggle_class("-zoomed")
        self.query_one("#detail" if self.has_class("-zoomed") else "#rows").focus()

    def copyable(self) -> Copyable:
        row = next((row for row in self.all_rows if row.key == self.chosen), None)
        if row is None:
            return Copyable(command=self.same_command())
        names = [column.name for column in self.COLUMNS if column.name]
        values = [row.cells.get(name, "") for name in names]
        bars = [f"| {' | '.join(texts)} |" for texts in (names, ["---"] * len(names), values)]
        return Copyable(row.key, self.same_command(), "  ".join(value for value in values if value), "\n".join(bars))

    def whole_text(self) -> str:
        return self.about(self.chosen)


def _natural(text: str) -> tuple[int, float, str]:
    """Numbers by their size, everything else by its letters, what is missing last."""
    bare = text.strip("!~ ").replace(",", "")
    digits = "".join(character for character in bare if character.isdigit() or character == ".")
    try:
        return (0, float(digits), text) if digits and bare[:1].isdigit() else (1, 0.0, text.casefold())
    except ValueError:
        return (1, 0.0, text.casefold())
