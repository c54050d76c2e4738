"""The runs of this machine: which go on, which are open and why, and what to type next."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType

from console.runs.listing import RunSummary
from console.tui.actions import Situation
from console.tui.again import AgainScreen
from console.tui.keys import bindings
from console.tui.listing import ListingScreen
from console.tui.run import RunScreen
from console.tui.table import Column, Row
from console.tui.workers import work
from console.untrusted import one_line
from console.views.cells import wrap
from console.views.figures import day
from console.views.lines import TONES
from console.views.listings import SHORT_ID

COLUMNS = (
    Column("", 2),
    Column("RUN", SHORT_ID, drop=2),
    Column("STARTED", 12, drop=3),
    Column("RUNBOOK", 14, drop=1, grow=True),
    Column("TARGET", 12, grow=True),
    Column("OUTCOME", 18),
    Column("BY", 12, drop=4),
)
STYLES = {"..": "yellow", "!!": "bold red", "ok": "green", "--": "dim"}


class RunsScreen(ListingScreen):
    """Those that go on first, then those that wait for somebody, then the newest."""

    NAME: ClassVar[str] = "runs"
    MODE: ClassVar[str] = "runs"
    BINDINGS: ClassVar[list[BindingType]] = bindings("runs")
    COLUMNS = COLUMNS
    only_open = False

    def on_mount(self) -> None:
        super().on_mount()
        self.action_again()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self.action_again()

    def rows(self) -> list[Row]:
        shown = [one for one in self.session.found_runs if not self.only_open or one.alive or waits(one)]
        return [run_row(summary, index) for index, summary in enumerate(shown)]

    def heading(self, shown: int) -> tuple[str, str]:
        everything = len(self.session.found_runs)
        if self.only_open:
            return f"Runs of this machine: {shown} of {everything}, those going on or open", ""
        return f"Runs of this machine: all {everything}", ""

    def about(self, key: str) -> str:
        summary = self.summary(key)
        if summary is None:
            return "no run is open or going on; o shows all" if self.only_open else "no run yet"
        return "\n".join(about(summary, self.room))

    def summary(self, key: str) -> RunSummary | None:
        return next((one for one in self.session.found_runs if one.id == key), None)

    def situation(self) -> Situation:
        summary = self.summary(self.chosen)
        if summary is None:
            return super().situation()
        changed = bool({"verified", "verified-incomplete", "applied-unverified"} & set(summary.outcomes.values()))
        return replace(
            super().situation(),
            run=summary.id,
            alive=summary.alive,
            open=waits(summary),
            changed=changed or waits(summary),
        )

    def same_command(self) -> str:
        return "console runs --open" if self.only_open else "console runs"

    # -- what can be done here --------------------------------------------------------------------------------------

    def action_again(self) -> None:
        work(self, self._read, "runs")

    async def _read(self) -> None:
        await asyncio.to_thread(self.session.runs)
        self.show_rows()

    def action_only_open(self) -> None:
        self.only_open = not self.only_open
        self.show_rows()

    def action_open(self) -> None:
        self.app.push_screen(RunScreen(self.session, run_id=self.chosen))

    def action_review(self) -> None:
        self.console_app.ways.review(self.chosen)

    def action_go_on(self) -> None:
        self.app.push_screen(AgainScreen(self.session, "resume", self.chosen))

    def action_put_back(self) -> None:
        self.app.push_screen(AgainScreen(self.session, "rollback", self.chosen))

    def action_recover(self) -> None:
        self.console_app.ways.said(["recover"])


def waits(summary: RunSummary) -> bool:
    """Whether somebody must settle it."""
    return not summary.alive and (summary.open or summary.needs_recover)


def run_row(summary: RunSummary, index: int) -> Row:
    """`..` goes on, `!!` waits for somebody, `ok` ended well, `--` is settled."""
    good = all(TONES.get(outcome) == "good" for outcome in summary.outcomes.values())
    glyph = ".." if summary.alive else "!!" if waits(summary) else "ok" if good else "--"
    outcome = "running" if summary.alive else ", ".join(dict.fromkeys(summary.outcomes.values())) or "not begun"
    what = summary.runbook if summary.purpose == "run" else f"{summary.purpose} {summary.runbook}"
    cells = {
        "": glyph,
        "RUN": summary.id[:SHORT_ID],
        "STARTED": day(summary.started)[5:],
        "RUNBOOK": what,
        "TARGET": ", ".join(summary.targets),
        "OUTCOME": outcome,
        "BY": summary.operator.partition("@")[0],
    }
    first = 0 if summary.alive else 1 if waits(summary) else 2
    return Row(summary.id, cells, {"": STYLES[glyph], "OUTCOME": STYLES[glyph]}, (first, index))


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
    if waits(summary):
        said.append("here: s resumes it, b rolls it back (each shows what first)")
    return said + [f"{'next:' if index == 0 else '     '} {one_line(text)}" for index, text in enumerate(summary.next)]
