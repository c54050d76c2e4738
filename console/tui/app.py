"""The application: its modes, how it begins and ends, and what a signal or a bug does to it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import App
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from console.errors import ConsoleError
from console.tui.driver import TerminalDriver
from console.tui.fleet import FleetScreen
from console.tui.garbage import SILENT_S, THOROUGH_S, thorough
from console.tui.leave import LeaveScreen, going_on
from console.tui.polling import Poller
from console.tui.session import Session, World
from console.tui.small import SmallScreen
from console.tui.workers import work

if TYPE_CHECKING:
    from console.tui.ways import Ways

SMALLEST = (40, 15)
THEMES = {"dark": "textual-dark", "light": "textual-light", "terminal": "ansi-dark"}
RUNS_S = 5.0
# In this time the first frame is on the terminal.
WRITTEN_S = 0.03
# What a shell reports for a process that a signal ended: textual alone would say 0, or leave the terminal as it is.
SIGNALS = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}


class ConsoleApp(App[None]):
    """Shows and starts; it never carries out anything itself, so its end ends no run.

    `read` makes the world; it is awaited after the first table stands, because what it loads takes longer than that.
    """

    TITLE = "console"
    CSS_PATH = "console.tcss"
    ENABLE_COMMAND_PALETTE = False
    DEFAULT_MODE: ClassVar[str] = "fleet"

    def __init__(self, session: Session, read: Callable[[], Awaitable[World]] | None = None) -> None:
        # textual: NO_COLOR turns colours into greys, a failure dimmer than the rest; the terminal's own two do better.
        super().__init__(driver_class=TerminalDriver, ansi_color=True if "NO_COLOR" in os.environ else None)
        self.session = session
        self.read = read
        self.poller = Poller(session, self._looked_at)
        self.looked_at = 0
        self._polling: asyncio.Task[None] | None = None
        self.verified: Mapping[str, str] = {}
        self.crash: Exception | None = None
        self.lost = False
        self._learning = False
        self.animation_level = "none"
        if "NO_COLOR" not in os.environ:
            self.theme = THEMES[session.preferences.theme]
        self.add_mode("fleet", lambda: FleetScreen(session))
        for mode in ("runs", "measure", "history"):
            self.add_mode(mode, partial(self._mode, mode))
        if session.preferences.keys:
            self.set_keymap({name: ",".join(keys) for name, keys in session.preferences.keys.items()})

    def on_mount(self) -> None:
        self.set_class(self.session.preferences.ascii, "-ascii")

    def on_ready(self) -> None:
        """The first frame goes to the terminal now; loading at once would hold up the thread that writes it."""
        if self.read is None:
            self._start()
        else:
            self.set_timer(WRITTEN_S, self._start)

    def _start(self) -> None:
        work(self, self._begin, "begin", exclusive=False)

    @cached_property
    def ways(self) -> Ways:
        """Every screen but the first."""
        from console.tui.ways import Ways

        return Ways(self)

    def _mode(self, name: str) -> Screen[Any]:
        return self.ways.mode(name)

    def on_unmount(self) -> None:
        if self._polling is not None:
            self._polling.cancel()

    def _looked_at(self, _target: str) -> None:
        self.looked_at += 1

    async def _begin(self) -> None:
        """Know the world, look at it from now on, and open where somebody is needed."""
        if self.read is not None:
            try:
                self.session.know(await self.read())
            except ConsoleError as error:
                self.crash = error
                self.exit()
                return
        self.set_interval(0.5, self.session.look_at_started)
        self.set_interval(RUNS_S, self._read_runs)
        self.set_interval(THOROUGH_S, self._tidy)
        self._polling = asyncio.create_task(self.poller.run())
        self.looked_at += 1
        await self._learn_runs()
        await self.ways.begin()

    def _tidy(self) -> None:
        if self.session.silent_s >= SILENT_S:
            thorough()

    def _read_runs(self) -> None:
        # One that takes longer than the interval is let end: cut short each time, it would never have an answer.
        if not self._learning:
            work(self, self._learn_runs, "runs")

    async def _learn_runs(self) -> None:
        from console.tui.proofs import proven

        self._learning = True
        try:
            await asyncio.to_thread(self.session.runs)
            found = await asyncio.to_thread(proven, self.session, self.verified)
        finally:
            self._learning = False
        if found != self.verified:  # the rows are made anew for another one
            self.verified = found

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.MouseDown):
            self.session.touch()
        await super().on_event(event)

    def on_app_blur(self) -> None:
        self.poller.focused = False

    def on_app_focus(self) -> None:
        self.poller.focused = True

    def on_resize(self, event: events.Resize) -> None:
        """Below the smallest size one page says so; it goes by itself when there is room again."""
        small = event.size.width < SMALLEST[0] or event.size.height < SMALLEST[1]
        shown = isinstance(self.screen, SmallScreen)
        if small and not shown:
            self.push_screen(SmallScreen(SMALLEST))
        elif shown and not small:
            self.pop_screen()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Work that failed would otherwise be silent: textual ends the program for it, or says nothing."""
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            said = f"a bug in this screen: {type(error).__name__}: {error}"
            self.notify(self.session.safe(said), severity="error", timeout=10, markup=False)

    def notify(self, message: str, **more: Any) -> None:
        """A word at the bottom of the screen; it stays among the messages."""
        self.session.note(str(more.get("severity", "information")), message)
        super().notify(message, **more)

    def go_to(self, mode: str) -> None:
        self.switch_mode(mode)
        self.poller.focused = mode == "fleet"

    # -- how it ends ------------------------------------------------------------------------------------------------

    async def action_quit(self) -> None:
        alive = self.session.alive()
        if alive:
            self.push_screen(LeaveScreen(self.session, alive), self._leave)
        else:
            self.exit()

    def _leave(self, sure: bool | None) -> None:
        if sure:
            self.exit(message=Text("\n".join(going_on(self.session.alive()))))

    def action_help_quit(self) -> None:
        """Ctrl-C."""
        self.notify("q leaves the console, x stops a run; Ctrl-C does neither", markup=False)

    def stopped(self, code: int) -> None:
        """A signal: leave at once; what was started goes on."""
        self.exit(return_code=code)

    def terminal_lost(self) -> None:
        """Nobody sees this any more; what was started goes on."""
        self.lost = True
        self.stopped(SIGNALS[signal.SIGHUP])

    def _handle_exception(self, error: Exception) -> None:
        self.crash = self.crash or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """textual would print the traceback with local values, secrets among them; the front door keeps one without."""
        self._close_messages_no_wait()
