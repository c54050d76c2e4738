"""All about one target: status, live journal, configuration, GPUs, drift and history."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from console.engines.registry import engine_named
from console.errors import ConsoleError
from console.schema.hosts import Target
from console.tui import targets
from console.tui.actions import Situation
from console.tui.frame import FrameScreen
from console.tui.keys import bindings
from console.tui.logins import wanted
from console.tui.runbooks import RunbooksScreen
from console.tui.scroll import LineLog, Scroll
from console.tui.session import Seen, Session
from console.tui.shell import ssh_words
from console.tui.target_values import SETTINGS, detail, foreign_run
from console.tui.workers import work
from console.untrusted import one_line
from console.views.cells import cut, wrap
from console.views.config import config_text
from console.views.differs import drift_text, gpu_text
from console.views.listings import history_table

TABS = ("Status", "Log", "Config", "GPU", "Drift", "History")
LOG_LINES = 5000
LOOK_S = 2.0
LINE_CELLS = 1000
LINES_AT_ONCE = 200


class TargetScreen(FrameScreen):
    """One tab at a time. What it shows is of the last look; the title says how old that is."""

    NAME: ClassVar[str] = "target"
    MODE: ClassVar[str] = "fleet"
    BINDINGS: ClassVar[list[BindingType]] = bindings("target")

    def __init__(self, session: Session, target: Target, tab: str = "Status") -> None:
        super().__init__(session)
        self.target = target
        self.tab = tab
        self.history: str = ""
        self.following = True
        self.lines: list[str] = []
        self._at = -1.0

    def body(self) -> Iterable[Widget]:
        yield LineLog(id="log", max_lines=LOG_LINES, auto_scroll=True)
        with Scroll(id="plan"):
            yield Static(id="text")

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(1.0, self._tick)
        self.show_tab()

    def on_resize(self) -> None:
        super().on_resize()
        if self.ready and self.lines:
            self.query_one("#log", LineLog).clear()
            self._write_wrapped(self.lines)
        self._show_text()

    def situation(self) -> Situation:
        known = {summary.id for summary in self.session.found_runs}
        foreign = foreign_run(self.seen.facts, known)
        asked = bool(wanted(self.session, self.seen))
        return replace(super().situation(), target=self.target.name, foreign=foreign, unanswered=asked)

    @property
    def seen(self) -> Seen:
        return self.session.seen.get(self.target.name, Seen())

    # -- what can be done here --------------------------------------------------------------------------------------

    def action_next_tab(self) -> None:
        self.tab = TABS[(TABS.index(self.tab) + 1) % len(TABS)]
        self.show_tab()

    def action_previous_tab(self) -> None:
        self.tab = TABS[TABS.index(self.tab) - 1]
        self.show_tab()

    def action_runbook(self) -> None:
        self.app.push_screen(RunbooksScreen(self.session, [self.target]))

    def action_take_over(self) -> None:
        self.console_app.ways.take_over(self.situation().foreign, [self.target])

    def action_measure(self) -> None:
        self.console_app.ways.measure(self.target)

    def action_again(self) -> None:
        self.history = ""
        self.console_app.poller.look(self.target, whole=True)
        self.show_tab()

    def action_follow(self) -> None:
        self.following = not self.following
        log = self.query_one("#log", LineLog)
        log.auto_scroll = self.following
        if self.following:
            log.scroll_end(animate=False)
        self._say_title()

    def action_log_in(self) -> None:
        self.log_in(self.target, self.seen)

    def action_shell(self) -> None:
        self.suspended(ssh_words(self.target), None, "cannot start ssh")

    def same_command(self) -> str:
        name = self.target.name
        if self.tab == "Log":
            return f"journalctl -fu {self.target.service.unit}"
        return f"console history list {name}" if self.tab == "History" else f"console facts {name}"

    def whole_text(self) -> str:
        return "\n".join(self.lines) if self.tab == "Log" else self._text()

    # -- showing ----------------------------------------------------------------------------------------------------

    def show_tab(self) -> None:
        is_log = self.tab == "Log"
        self.set_class(is_log, "-log")
        self.query_one("#log" if is_log else "#plan").focus()
        if is_log:
            work(self, self._journal, "journal")
        else:
            self.workers.cancel_group(self, "journal")
        if self.tab == "History" and not self.history:
            work(self, self._read_history, "history")
        self._show_text()

    def _tick(self) -> None:
        self._say_title()
        if self.seen.at != self._at:
            self._show_text()

    def _say_title(self) -> None:
        tabs = " ".join(f"[{tab}]" if tab == self.tab else tab for tab in TABS)
        _, word = targets.standing(self.seen, self.session.clock.monotonic())
        follows = ("following  " if self.following else "paused, F follows  ") if self.tab == "Log" else ""
        right = f"{follows}{word} {targets.age(self.seen, self.session.clock.monotonic())}"
        self.show_title(f"{self.target.name}  {tabs}", right)

    def _show_text(self) -> None:
        if not self.ready:
            return
        self._at = self.seen.at
        self._say_title()
        self.query_one("#text", Static).update(self.say(self._text()))

    def _text(self) -> str:
        seen, width = self.seen, self.room
        if self.tab == "History":
            return self.history or "reading the results repository"
        if self.tab == "Status" or seen.facts is None:
            return detail(self.target, seen, self.session.clock.monotonic(), width)
        engine = engine_named(self.target.service.engine)
        if self.tab == "Config":
            return config_text(seen.facts, engine, SETTINGS, width)
        if self.tab == "GPU":
            return gpu_text(seen.facts, width)
        return drift_text(seen.facts, engine, SETTINGS, width)

    # -- reading ----------------------------------------------------------------------------------------------------

    async def _journal(self) -> None:
        """Only while its tab is shown; one exec every two seconds, without sudo, 2,000 lines at most."""
        cursor = ""
        while True:
            held = self.console_app.poller.held.get(self.target.name, "")
            try:
                if held:
                    self._write([f"-- not looked at now: {held}"])
                else:
                    watch = await self.session.looks.journal(self.target, cursor)
                    cursor = watch.cursor
                    said = [line.text for line in watch.journal] or (
                        [f"-- {watch.journal_reason}"] if watch.journal_reason else []
                    )
                    for start in range(0, len(said), LINES_AT_ONCE):
                        self._write(said[start : start + LINES_AT_ONCE])
                        await asyncio.sleep(0)  # thousands at once would hold up the keys
            except ConsoleError as error:
                self._write([f"-- {text}" for text in str(error).splitlines()])
                await self.session.clock.sleep(3 * LOOK_S)
            await self.session.clock.sleep(LOOK_S)

    def _write(self, lines: list[str]) -> None:
        if not lines:
            return
        shown = [self.session.safe(cut(one_line(line), LINE_CELLS)) for line in lines]
        self.lines = [*self.lines, *shown][-LOG_LINES:]
        self._write_wrapped(shown)

    def _write_wrapped(self, lines: list[str]) -> None:
        """The end of a line says what went wrong: nothing is cut off at the right edge."""
        wrapped = [part for line in lines for part in wrap(line, self.room, rest="    ")]
        self.query_one("#log", LineLog).write_lines(wrapped)

    async def _read_history(self) -> None:
        from console.results.queries.list import list_records

        path = self.session.inventory.results_path
        try:
            rows = await asyncio.to_thread(
                list_records, path, limit=50, target=self.target.name, environment=self.session.environment
            )
            self.history = history_table(rows, width=self.room) if rows else "no record of this target yet"
        except ConsoleError as error:
            self.history = str(error)
        self._show_text()
