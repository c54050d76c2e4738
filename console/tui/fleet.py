"""The fleet: every target of the inventory, what is wrong first, with the four levels of its window."""

from __future__ import annotations

from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from console.tui import targets
from console.tui.actions import Situation
from console.tui.keys import bindings
from console.tui.listing import ListingScreen
from console.tui.logins import wanted
from console.tui.session import Seen, Session
from console.tui.table import Row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.runs.listing import RunSummary
    from console.schema.facts import Facts
    from console.schema.hosts import Target
    from console.tui.target_values import Looked

# Columns from which the title says more.
MIDDLING, WIDE = 70, 110
# Rows are made anew for so long at once, hundreds would take longer than a key may; and longer while nobody types.
ROWS_S, ROWS_SILENT_S, SILENT_S = 0.003, 0.015, 0.3
# After which those that are behind are gone on with.
REST_S = 0.03


class FleetScreen(ListingScreen):
    """Where everything begins."""

    NAME: ClassVar[str] = "fleet"
    MODE: ClassVar[str] = "fleet"
    BINDINGS: ClassVar[list[BindingType]] = bindings("fleet")
    COLUMNS = targets.COLUMNS

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._known: dict[str, Looked] = {}
        self._rows: dict[str, tuple[tuple[object, ...], tuple[object, ...], Row]] = {}

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(1.0, self.show_rows)
        self.set_interval(0.1, self._when_looked)

    _shown_at = -1
    _behind = False
    _until = 0.0
    _page: tuple[object, ...] = ()
    _page_text = ""

    def _when_looked(self) -> None:
        """Ten times a second, and so many rows at a time, however many targets answer at once."""
        if self._behind or (self._shown_at != self.console_app.looked_at and self.is_current):
            self._shown_at = self.console_app.looked_at
            self.show_rows()
            if self._behind and self.is_current:
                self.set_timer(REST_S, self._when_looked)

    def rows(self) -> list[Row]:
        if not self.session.known.is_set():
            return [targets.unread_row(name) for name in self.session.names]
        now = self.session.clock.monotonic()
        self._behind, self._until = False, now + (ROWS_SILENT_S if self.session.silent_s > SILENT_S else ROWS_S)
        newest = {name: summary for summary in reversed(self.session.found_runs) for name in summary.targets}
        return [self._row(name, target, now, newest) for name, target in self.session.targets.items()]

    def _row(self, name: str, target: Target, now: float, newest: Mapping[str, RunSummary]) -> Row:
        """The row of before, unless something it is made of is another: most seconds nothing is."""
        seen = self.seen(name)
        made_of = (target, seen, self.console_app.verified)
        words = (*targets.passing(seen, now), newest.get(name))
        before = self._rows.get(name)
        if before is not None and before[1] == words and all(map(is_, before[0], made_of)):
            return before[2]
        if before is not None and (self._behind or self.session.clock.monotonic() > self._until):
            self._behind = True  # a moment later: a key comes first
            return before[2]
        row = targets.fleet_row(target, seen, now, newest, self._values)
        self._rows[name] = (made_of, words, row)
        return row

    def _values(self, target: Target, facts: Facts) -> dict[str, str]:
        """Of each look once: the rows are shown every second."""
        from console.tui.target_values import looked

        before = self._known.get(target.name)
        known = self._known[target.name] = looked(target, facts, self.console_app.verified, before)
        return known.cells

    def heading(self, shown: int) -> tuple[str, str]:
        found = self.session.found_runs
        alive = sum(1 for summary in found if summary.alive)
        waiting = sum(1 for summary in found if not summary.alive and (summary.open or summary.needs_recover))
        poller, width = self.console_app.poller, self.app.size.width
        if not self.session.known.is_set():
            return f"Fleet {targets.counts(self.all_rows)}", ""
        runs = f"; runs: {alive} going on, {waiting} open" if width >= MIDDLING else ""
        cost = poller.cost() if width >= WIDE else f"every {poller.every_s:g} s, no sudo" if width >= MIDDLING else ""
        return f"Fleet {targets.counts(self.all_rows)}{runs}", cost

    def about(self, key: str) -> str:
        if not self.session.known.is_set():
            return "reading the inventory"
        from console.tui.target_values import detail

        target = self.session.target(key)
        if target is None:
            return "no target in the inventory: console hosts add HOST/SERVICE"
        return detail(target, self.seen(key), self.session.clock.monotonic(), self.room, self._page_of)

    def _page_of(self, target: Target, facts: Facts, width: int) -> str:
        """Of each look once, for the same reason."""
        from console.tui.target_values import page

        if self._page[:1] != (target.name,) or self._page[1] is not facts or self._page[2] != width:
            self._page, self._page_text = (target.name, facts, width), page(target, facts, width)
        return self._page_text

    def seen(self, name: str) -> Seen:
        return self.session.seen.get(name, Seen())

    def situation(self) -> Situation:
        if not self.session.known.is_set():
            return replace(super().situation(), target=self.chosen)
        from console.tui.target_values import foreign_run

        known = {summary.id for summary in self.session.found_runs}
        foreign = foreign_run(self.seen(self.chosen).facts, known)
        asked = bool(wanted(self.session, self.seen(self.chosen)))
        return replace(super().situation(), target=self.chosen, foreign=foreign, unanswered=asked)

    def same_command(self) -> str:
        return f"console facts {self.chosen}".strip()

    def chosen_target(self) -> Target | None:
        """The target under the cursor, by its key: rows may move."""
        return self.session.target(self.chosen)

    def chosen_targets(self) -> list[Target]:
        """The marked ones, else the one under the cursor."""
        names = self.marked or [self.chosen]
        return [target for name in names if (target := self.session.target(name)) is not None]

    # -- what can be done here --------------------------------------------------------------------------------------

    def action_open(self) -> None:
        self._open("Status")

    def action_journal(self) -> None:
        self._open("Log")

    def action_drift(self) -> None:
        self._open("Drift")

    def _open(self, tab: str) -> None:
        target = self.chosen_target()
        if target is not None:
            self.console_app.ways.target(target, tab)

    def action_runbook(self) -> None:
        self.console_app.ways.runbooks(self.chosen_targets())

    def action_take_over(self) -> None:
        self.console_app.ways.take_over(self.situation().foreign, self.chosen_targets()[:1])

    def action_measure(self) -> None:
        target = self.chosen_target()
        if target is not None:
            self.console_app.ways.measure(target)

    def action_again(self) -> None:
        """The inventory too: a host that was added is there."""
        self.console_app.ways.reread_inventory()
        self.console_app.poller.look_at_all()
        self.show_rows()

    def action_handover(self) -> None:
        self.console_app.ways.said(["handover", "--since", "12h"])

    def action_log_in(self) -> None:
        target = self.chosen_target()
        if target is not None:
            self.log_in(target, self.seen(target.name))

    def action_shell(self) -> None:
        target = self.chosen_target()
        if target is not None:
            from console.tui.shell import ssh_words

            self.suspended(ssh_words(target), None, "cannot start ssh")
