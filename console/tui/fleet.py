"""The fleet: every target of the inventory with its unit and the four levels of its window."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import DataTable, Static

from console.errors import ConsoleError, InternalError
from console.runs.listing import RunSummary
from console.schema.hosts import Target
from console.tui import targets
from console.tui.actions import bindings
from console.tui.frame import FrameScreen
from console.tui.runbooks import RunbooksScreen
from console.tui.runs import RunsScreen
from console.tui.session import Seen

FIXED_WIDTHS = {"": 2, "UNIT": 12, "DISK": 7, "LOADED": 7, "RUNNING": 8, "SERVING": 8, "POOL": 9, "AGE": 6}
# What was read so short ago is not read again for coming back from another screen.
FRESH_S = 5.0
GAPS = len(targets.HEAD)  # one blank before each column


class FleetScreen(FrameScreen):
    """Where everything begins, and where Esc leads back to."""

    NAME: ClassVar[str] = "fleet"
    BINDINGS: ClassVar[list[BindingType]] = bindings("fleet")

    def body(self) -> Iterable[Widget]:
        yield DataTable[object](id="fleet", cursor_type="row", cell_padding=0)
        with VerticalScroll(id="detail", can_focus=False):
            yield Static(id="facts")

    def on_mount(self) -> None:
        super().on_mount()
        table = self.query_one("#fleet", DataTable)
        for name in targets.HEAD:
            table.add_column(self.cell(name), key=name, width=self._width(name))
        for target in self._targets():
            table.add_row(*(self.cell(text) for text in self._row(target)), key=target.name)
        self.set_interval(1.0, self._tick)
        self.action_refresh()
        self.run_worker(self._begin(), group="begin", exit_on_error=False)

    async def _begin(self) -> None:
        """With a run of mine that goes on, or that waits for somebody, start there."""
        found = await asyncio.to_thread(self.session.runs)
        self._say_runs(found)
        waits = any(summary.alive or summary.open or summary.needs_recover for summary in found)
        if waits and self.is_current:
            self.app.push_screen(RunsScreen(self.session, only_open=True))

    def on_screen_resume(self) -> None:
        """Back from somewhere: what was read before a run is not how it is after it."""
        if self._runs:
            self._read(older_than_s=FRESH_S)

    def on_resize(self) -> None:
        super().on_resize()
        table = self.query_one("#fleet", DataTable)
        for column in table.columns.values():
            if column.key.value == "TARGET":
                column.width = self._width("TARGET")
        table.refresh(layout=True)
        self._show_detail()

    def on_data_table_row_highlighted(self, _event: DataTable.RowHighlighted) -> None:
        self._show_detail()

    def on_data_table_row_selected(self, _event: DataTable.RowSelected) -> None:
        self.action_open()

    # -- what can be done here --------------------------------------------------------------------------------------

    def action_open(self) -> None:
        target = self.chosen()
        if target is not None:
            self.app.push_screen(RunbooksScreen(self.session, target))

    def action_refresh(self) -> None:
        self._read()

    def _read(self, older_than_s: float = 0.0) -> None:
        now = self.session.clock.monotonic()
        for target in self._targets():
            seen = self._seen(target)
            if not seen.reading and now - seen.at >= older_than_s:
                self.run_worker(self._look(target), group=f"look {target.name}", exit_on_error=False)
        self.run_worker(self._count_runs(), group="runs", exclusive=True, exit_on_error=False)

    def action_runs(self) -> None:
        self.app.push_screen(RunsScreen(self.session))

    # -- reading ----------------------------------------------------------------------------------------------------

    async def _look(self, target: Target) -> None:
        before = self._seen(target)
        self._keep(target, replace(before, reading=True))
        try:
            facts = await self.session.looks.facts(target)
        except ConsoleError as error:
            self._keep(target, replace(before, error=error, reading=False))
        except asyncio.CancelledError:
            self.session.seen[target.name] = before
            raise
        except Exception as error:  # noqa: BLE001 - one target's trouble must not end the screen for the others
            wrong = InternalError(f"{type(error).__name__}: {error}", where=target.name)
            self._keep(target, replace(before, error=wrong, reading=False))
        else:
            self._keep(target, Seen(facts=facts, at=self.session.clock.monotonic()))

    def _keep(self, target: Target, seen: Seen) -> None:
        self.session.seen[target.name] = seen
        self._show_row(target)
        if self.chosen() == target:
            self._show_detail()

    async def _count_runs(self) -> None:
        self._say_runs(await asyncio.to_thread(self.session.runs))

    def _say_runs(self, found: list[RunSummary]) -> None:
        alive = sum(1 for summary in found if summary.alive)
        waiting = sum(1 for summary in found if not summary.alive and (summary.open or summary.needs_recover))
        self._runs = f"runs: {alive} going on, {waiting} open"
        self._tick()

    # -- showing ----------------------------------------------------------------------------------------------------

    _runs = ""

    def chosen(self) -> Target | None:
        """The target under the cursor, by its key: rows may move."""
        table = self.query_one("#fleet", DataTable)
        if not table.row_count:
            return None
        key = table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value
        return next((target for target in self._targets() if target.name == key), None)

    def _targets(self) -> list[Target]:
        return self.session.inventory.targets()

    def _seen(self, target: Target) -> Seen:
        return self.session.seen.get(target.name, Seen())

    def _row(self, target: Target) -> tuple[str, ...]:
        return targets.row(target, self._seen(target), self.session.clock.monotonic())

    def _show_row(self, target: Target) -> None:
        """Only cells whose text changed: a repaint costs bytes on a slow line."""
        table = self.query_one("#fleet", DataTable)
        for name, text in zip(targets.HEAD, self._row(target), strict=True):
            cell = self.cell(text)
            if table.get_cell(target.name, name) != cell:
                table.update_cell(target.name, name, cell)

    def _tick(self) -> None:
        if not self.is_mounted:
            return
        rows = []
        for target in self._targets():
            self._show_row(target)
            rows.append(self._row(target))
        where = str(self.session.inventory.path or "inventory")
        self.show_title(f"Fleet   {targets.counts(rows)}; {self._runs}", where)

    def _show_detail(self) -> None:
        target = self.chosen()
        shown = "no target in the inventory: console hosts add HOST/SERVICE"
        if target is not None:
            shown = targets.detail(target, self._seen(target), self.session.clock.monotonic(), self.room)
        self.query_one("#facts", Static).update(self.say(shown))

    def _width(self, name: str) -> int:
        if name != "TARGET":
            return FIXED_WIDTHS[name] + 1
        taken = sum(FIXED_WIDTHS.values()) + GAPS
        return max(8, min(40, self.app.size.width - taken))
