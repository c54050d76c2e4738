"""What a run measures, live or past: table and chart, over an earlier measurement of the same target."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from console.clock import SystemClock
from console.errors import ConsoleError
from console.runs.directory import RunDirectory
from console.runs.log import follow, read_log
from console.runs.state import RunState, fold
from console.schema.events import FindingMade
from console.tui.actions import Situation
from console.tui.frame import FrameScreen
from console.tui.keys import bindings
from console.tui.scroll import Scroll
from console.tui.session import Session
from console.tui.steps import word_of
from console.tui.workers import work
from console.views.run import progress_text
from console.views.series import conclusion_lines, series_chart, series_table, step_times

CHART_LINES = 14
FRAME_LINES = 3  # bar, title and keys


class SeriesScreen(FrameScreen):
    """`t` puts the table or the chart first; `B` lays an earlier measurement under it."""

    NAME: ClassVar[str] = "series"
    MODE: ClassVar[str] = "measure"
    BINDINGS: ClassVar[list[BindingType]] = bindings("series")

    def __init__(self, session: Session, run_id: str, earlier: Sequence[str] = ()) -> None:
        super().__init__(session)
        self.run_id = run_id
        self.directory = RunDirectory(session.base / run_id)
        self.state = RunState()
        self.earlier = tuple(earlier)
        self.under = -1
        self.before: tuple[FindingMade, ...] = ()
        self.chart_first = False
        self.dirty = True

    def body(self) -> Iterable[Widget]:
        with Scroll(id="plan"):
            yield Static(id="text")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#plan").focus()
        self.set_interval(0.25, self._flush)
        work(self, self._read, "follow")

    def on_resize(self) -> None:
        super().on_resize()
        self.dirty = True

    async def _read(self) -> None:
        """Only reads: cancelling loses nothing."""
        async for event in follow(self.directory.events_path, self.directory.alive, SystemClock()):
            self.state.apply(event)
            self.dirty = True
            await asyncio.sleep(0)

    @property
    def findings(self) -> list[FindingMade]:
        return points_of(self.state)

    def situation(self) -> Situation:
        return replace(super().situation(), run=self.run_id, points=len(self.findings), baseline=bool(self.earlier))

    def action_table(self) -> None:
        self.chart_first = not self.chart_first
        self.dirty = True
        self._flush()

    def action_baseline(self) -> None:
        """The next earlier one; after the last none."""
        self.under = self.under + 1 if self.under + 1 < len(self.earlier) else -1
        self.before = findings_of(self.session, self.earlier[self.under]) if self.under >= 0 else ()
        self.dirty = True
        self._flush()

    def same_command(self) -> str:
        if self.under >= 0:
            return f"console history compare {self.earlier[self.under]} {self.run_id}"
        return f"console history show {self.run_id}"

    def whole_text(self) -> str:
        return "\n".join(self._lines(max(80, self.room)))

    def _flush(self) -> None:
        if not self.dirty or not self.ready:
            return
        self.dirty = False
        started = self.state.started
        what = f"{started.runbook} {', '.join(started.targets)}" if started else self.run_id
        self.show_title(f"Measure  {what}", word_of(self.state, alive=self.directory.alive()))
        self.query_one("#text", Static).update(self.say("\n".join(self._lines(self.room))))
        self.show_keys()

    def _lines(self, width: int) -> list[str]:
        said = []
        for target in self.state.targets.values():
            step = target.current_step()
            if step is not None:
                said.append(f"{target.name}  {step.title or step.uses}  {progress_text(step)}".rstrip())
        if self.under >= 0:
            said.append(f"before: {self.earlier[self.under]} ({self.under + 1} of {len(self.earlier)})")
        rows = series_table(self.findings, self.before, width)
        # As tall as what is left of the screen: an axis that is only seen by scrolling says nothing.
        left = self.app.size.height - FRAME_LINES - len(said) - len(rows) - 2
        height = max(CHART_LINES, min(CHART_LINES + 6, left))
        drawing = series_chart(
            self.findings, self.before, width, height, ascii_only=self.session.preferences.ascii
        )  # fmt: skip
        first, second = (drawing, rows) if self.chart_first else (rows, drawing)
        said += ["", *first, "", *second] if said else [*first, "", *second]
        concluded = [one for target in self.state.targets.values() for one in target.conclusions]
        return [*said, "", *conclusion_lines(concluded, width)]


def findings_of(session: Session, run_id: str) -> tuple[FindingMade, ...]:
    """What an earlier run of this machine found."""
    try:
        log = read_log(RunDirectory(session.base / run_id).events_path, without=("log.line", "step.progress"))
    except ConsoleError:
        return ()
    return tuple(points_of(fold(log.events)))


def points_of(state: RunState) -> list[FindingMade]:
    """What was measured so far, cell by cell, then what was concluded from it."""
    return [
        one for name, target in state.targets.items() for one in (*step_times(name, target.cells), *target.findings)
    ]
