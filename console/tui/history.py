"""History: the results repository, with records to read, to compare and to ask for who set what."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from console.errors import ConsoleError
from console.tui.actions import Situation
from console.tui.keys import bindings
from console.tui.listing import ListingScreen
from console.tui.session import Session
from console.tui.table import Column, Row
from console.tui.textview import TextScreen
from console.tui.workers import work
from console.views.cells import wrap
from console.views.figures import day

if TYPE_CHECKING:
    from console.results.queries.list import HistoryRow

COLUMNS = (
    Column("", 2),
    Column("WHEN", 12, drop=2),
    Column("TARGET", 12),
    Column("RUNBOOK", 12, drop=3),
    Column("OUTCOME", 18),
    Column("WHAT", 16, drop=1, grow=True),
    Column("BY", 8, drop=4),
    Column("RUN", 14, drop=5),
)
NEWEST = 300
GOOD = frozenset({"verified", "measured", "no-change"})
BAD = frozenset({"applied-unverified", "rollback-failed", "unknown"})


class HistoryScreen(ListingScreen):
    """Read from git; nothing here changes the repository or a host."""

    NAME: ClassVar[str] = "history"
    MODE: ClassVar[str] = "history"
    BINDINGS: ClassVar[list[BindingType]] = bindings("history")
    COLUMNS = COLUMNS

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.records: dict[str, HistoryRow] = {}
        self.wrong = "reading the results repository"

    def on_mount(self) -> None:
        super().on_mount()
        self.action_again()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self.action_again()

    def action_again(self) -> None:
        work(self, self._read, "history")

    async def _read(self) -> None:
        from console.results.queries.list import list_records

        path = self.session.inventory.results_path
        try:
            rows = await asyncio.to_thread(list_records, path, limit=NEWEST, environment=self.session.environment)
        except ConsoleError as error:
            self.records, self.wrong = {}, str(error)
        else:
            self.records = {f"{row.run} {row.target}": row for row in rows}
            self.wrong = f"no record in {path}"
        self.show_rows()

    def rows(self) -> list[Row]:
        return [history_row(key, row) for key, row in self.records.items()]

    def heading(self, shown: int) -> tuple[str, str]:
        marked = f"{len(self.marked)} marked" if self.marked else ""
        return f"History: {len(self.records)} records", marked or str(self.session.inventory.results_path)

    def record(self, key: str) -> HistoryRow | None:
        return self.records.get(key)

    def about(self, key: str) -> str:
        row = self.record(key)
        return self.wrong if row is None else "\n".join(about(row, self.room))

    def situation(self) -> Situation:
        row = self.record(self.chosen)
        if row is None:
            return super().situation()
        return replace(super().situation(), record=row.run, run=row.run, target=row.target)

    def same_command(self) -> str:
        row = self.record(self.chosen)
        return f"console history show {row.run}" if row else "console history list"

    # -- what can be done here --------------------------------------------------------------------------------------

    def _chosen(self) -> HistoryRow:
        return self.records[self.chosen]

    def action_open(self) -> None:
        self.console_app.ways.said(["history", "show", self._chosen().run])

    def action_report(self) -> None:
        self.console_app.ways.said(["history", "report", self._chosen().run])

    def action_blame(self) -> None:
        self.console_app.ways.said(["history", "blame", self._chosen().target])

    def action_compare(self) -> None:
        runs = [self.records[key].run for key in self.marked if key in self.records]
        self.console_app.ways.said(["history", "compare", *runs])

    def action_handover(self) -> None:
        self.console_app.ways.said(["handover", "--since", "12h"])

    def action_review(self) -> None:
        self.console_app.ways.review(self._chosen().run)

    def action_show_commit(self) -> None:
        row = self._chosen()
        path = self.session.inventory.results_path

        async def source(_width: int) -> str:
            from console.results.git import Git

            git = Git(path, self.session.environment)
            answer = await asyncio.to_thread(git.run, "show", "--stat", "--patch", "--no-color", row.sha)
            return answer.out if answer.ok else answer.said

        command = f"git -C {path} show {row.sha[:12]}"
        self.app.push_screen(TextScreen(self.session, command, source, command))


def history_row(key: str, row: HistoryRow) -> Row:
    glyph = "ok" if row.outcome in GOOD else "!!" if row.outcome in BAD else "--"
    style = {"ok": "green", "!!": "bold red", "--": ""}[glyph]
    _, colon, what = row.subject.partition(": ")
    cells = {
        "": glyph,
        "WHEN": day(row.at)[5:],
        "TARGET": row.target,
        "RUNBOOK": row.runbook,
        "OUTCOME": row.outcome,
        "WHAT": what if colon else row.subject,
        "BY": row.operator.partition("@")[0],
        "RUN": row.run[:14],
    }
    return Row(key, cells, {"": style, "OUTCOME": style})


def about(row: HistoryRow, width: int) -> list[str]:
    """The commit's own words: what was changed, found and why."""
    said = wrap(row.subject, width)
    said += wrap(f"{row.run}  commit {row.sha[:12]}  {day(row.at)}  by {row.operator}", width)
    said += wrap(f"reason {row.reason}", width) if row.reason else []
    said += wrap(f"ticket {row.ticket}", width) if row.ticket else []
    said += wrap(f"follows {row.parent}", width) if row.parent else []
    said += ["simulated: not a real host"] if row.simulated else []
    for label, texts in (("change", row.changes), ("found", row.findings)):
        for text in texts:
            said += wrap(text, width, first=f"{label:<7} ")
    return said
