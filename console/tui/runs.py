"""The runs of this machine: which go on, which are open and why, and what to type next."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import DataTable, Static

from console.runs.listing import RunSummary
from console.tui.actions import bindings
from console.tui.frame import FrameScreen
from console.tui.run import RunScreen
from console.tui.session import Session
from console.untrusted import one_line
from console.views.cells import wrap
from console.views.figures import day
from console.views.lines import TONES
from console.views.listings import SHORT_ID

HEAD = ("", "RUN", "STARTED", "RUNBOOK", "TARGET", "OUTCOME")
# For 80 columns; what is wider goes to the two names.
WIDTHS = {"": 2, "RUN": SHORT_ID, "STARTED": 12, "RUNBOOK": 16, "TARGET": 12, "OUTCOME": 18}
NAMES = ("RUNBOOK", "TARGET")


class RunsScreen(FrameScreen):
    """Newest first. Enter looks at one, or follows it where it goes on."""

    NAME: ClassVar[str] = "runs"
    BINDINGS: ClassVar[list[BindingType]] = bindings("runs")

    def __init__(self, session: Session, *, only_open: bool = False) -> None:
        super().__init__(session)
        self.only_open = only_open
        self.found: list[RunSummary] = []

    def body(self) -> Iterable[Widget]:
        yield DataTable[object](id="runs", cursor_type="row", cell_padding=0)
        with VerticalScroll(id="detail", can_focus=False):
            yield Static(id="about")

    def on_mount(self) -> None:
        super().on_mount()
        table = self.query_one("#runs", DataTable)
        for name in HEAD:
            table.add_column(self.cell(name), key=name or "glyph", width=self._width(name))

    def on_resize(self) -> None:
        super().on_resize()
        table = self.query_one("#runs", DataTable)
        for column in table.columns.values():
            if column.key.value in NAMES:
                column.width = self._width(str(column.key.value))
        table.refresh(layout=True)

    def _width(self, name: str) -> int:
        spare = max(0, self.app.size.width - sum(WIDTHS.values()) - len(WIDTHS))
        return WIDTHS[name] + 1 + (min(20, spare // len(NAMES)) if name in NAMES else 0)

    def on_screen_resume(self) -> None:
        self.action_refresh()

    def action_refresh(self) -> None:
        self.run_worker(self._read(), group="runs", exclusive=True, exit_on_error=False)

    async def _read(self) -> None:
        self.found = await asyncio.to_thread(self.session.runs)
        self._show()

    def action_filter(self) -> None:
        self.only_open = not self.only_open
        self._show()

    def action_open(self) -> None:
        summary = self.chosen()
        if summary is not None:
            self.app.switch_screen(RunScreen(self.session, run_id=summary.id))

    def on_data_table_row_selected(self, _event: DataTable.RowSelected) -> None:
        self.action_open()

    def on_data_table_row_highlighted(self, _event: DataTable.RowHighlighted) -> None:
        self._about()

    def shown(self) -> list[RunSummary]:
        return [one for one in self.found if not self.only_open or one.alive or one.open or one.needs_recover]

    def chosen(self) -> RunSummary | None:
        table = self.query_one("#runs", DataTable)
        if not table.row_count:
            return None
        key = table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value
        return next((one for one in self.found if one.id == key), None)

    def _show(self) -> None:
        table = self.query_one("#runs", DataTable)
        before = self.chosen()
        table.clear()
        shown = self.shown()
        for summary in shown:
            table.add_row(*(self.cell(text) for text in cells_of(summary)), key=summary.id)
        if before is not None and before in shown:
            table.move_cursor(row=shown.index(before), scroll=False)
        which = f"{len(shown)} of {len(self.found)}, those going on or open" if self.only_open else f"all {len(shown)}"
        self.show_title(f"Runs of this machine: {which}", "")
        self._about()

    def _about(self) -> None:
        summary = self.chosen()
        nothing = "no run is open or going on; o shows all" if self.only_open else "no run yet"
        text = "\n".join(about(summary, self.room)) if summary else nothing
        self.query_one("#about", Static).update(self.say(text))


def cells_of(summary: RunSummary) -> tuple[str, ...]:
    """The cells of HEAD: `..` goes on, `!!` waits for somebody, `ok` ended well, `--` is settled."""
    good = all(TONES.get(outcome) == "good" for outcome in summary.outcomes.values())
    glyph = ".." if summary.alive else "!!" if summary.open or summary.needs_recover else "ok" if good else "--"
    outcome = "running" if summary.alive else ", ".join(dict.fromkeys(summary.outcomes.values())) or "not begun"
    what = summary.runbook if summary.purpose == "run" else f"{summary.purpose} {summary.runbook}"
    return (glyph, summary.id[:SHORT_ID], day(summary.started)[5:], what, ", ".join(summary.targets), outcome)


def about(summary: RunSummary, width: int) -> list[str]:
    """Why it is open, who started it, and the commands that settle it; they are never broken over lines."""
    said = wrap(f"{summary.id}  {summary.title}", width)
    code = "" if summary.exit_code is None else f", exit {summary.exit_code}"
    said += wrap(f"by {summary.operator or 'nobody known'}{code}  {summary.reason}", width)
    if summary.alive:
        said.append("goes on now: Enter follows it")
    for target, why in summary.open_targets.items():
        said += wrap(f"OPEN {target}: {why}", width, rest="    ")
    if summary.damaged:
        said += wrap(f"damaged: {summary.damaged}", width)
    return said + [f"{'next:' if index == 0 else '     '} {one_line(text)}" for index, text in enumerate(summary.next)]
