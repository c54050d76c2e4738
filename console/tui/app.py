"""The application: its modes, how it begins and ends, and what a signal or a bug does to it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

from rich.text import Text
from textual import events
from textual.app import App
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from console.errors import ConsoleError, UsageError
from console.planning.preview import Looking
from console.remote.ssh import Connections
from console.runs.listing import find_run
from console.schema.hosts import Target, load_inventory
from console.secrets import Redactor
from console.tui.acting import ActingScreen
from console.tui.again import AgainScreen
from console.tui.commands import Commands
from console.tui.driver import TerminalDriver
from console.tui.fleet import FleetScreen
from console.tui.history import HistoryScreen
from console.tui.leave import LeaveScreen, going_on
from console.tui.measure import COSTS, WORDS, ChooseScreen, MeasureScreen, SendsScreen
from console.tui.palette import PaletteScreen
from console.tui.polling import Poller
from console.tui.preferences import Preferences, load_preferences, preferences_path
from console.tui.proofs import proven
from console.tui.run import RunScreen
from console.tui.runs import RunsScreen, waits
from console.tui.session import Session
from console.tui.small import SmallScreen
from console.tui.start import Started, launch, start_run
from console.tui.textview import TextScreen, of_command
from console.tui.workers import work

SMALLEST = (40, 15)
THEMES = {"dark": "textual-dark", "light": "textual-light", "terminal": "ansi-dark"}
RUNS_S = 5.0
# What a shell reports for a process that a signal ended: textual alone would say 0, or leave the terminal as it is.
SIGNALS = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}


class ConsoleApp(App[None]):
    """Shows and starts; it never carries out anything itself, so its end ends no run."""

    TITLE = "console"
    CSS_PATH = "console.tcss"
    ENABLE_COMMAND_PALETTE = False
    DEFAULT_MODE: ClassVar[str] = "fleet"

    def __init__(self, session: Session) -> None:
        # textual: NO_COLOR turns colours into greys, a failure dimmer than the rest; the terminal's own two do better.
        super().__init__(driver_class=TerminalDriver, ansi_color=True if "NO_COLOR" in os.environ else None)
        self.session = session
        self.poller = Poller(session, self._looked_at)
        self.looked_at = 0
        self._polling: asyncio.Task[None] | None = None
        self.commands = Commands(self)
        self.verified: Mapping[str, str] = {}
        self.crash: Exception | None = None
        self.lost = False
        self.animation_level = "none"
        if "NO_COLOR" not in os.environ:
            self.theme = THEMES[session.preferences.theme]
        self.add_mode("fleet", lambda: FleetScreen(session))
        self.add_mode("runs", lambda: RunsScreen(session))
        self.add_mode("measure", lambda: MeasureScreen(session))
        self.add_mode("history", lambda: HistoryScreen(session))
        if session.preferences.keys:
            self.set_keymap({name: ",".join(keys) for name, keys in session.preferences.keys.items()})

    def on_mount(self) -> None:
        self.set_class(self.session.preferences.ascii, "-ascii")
        self.set_interval(0.5, self.session.look_at_started)
        self.set_interval(RUNS_S, self._read_runs)
        self._polling = asyncio.create_task(self.poller.run())
        work(self, self._begin, "begin", exclusive=False)

    def on_unmount(self) -> None:
        if self._polling is not None:
            self._polling.cancel()

    def _looked_at(self, _target: str) -> None:
        self.looked_at += 1

    async def _begin(self) -> None:
        """With a run of mine that goes on, start on it; with one that waits for somebody, start with the list."""
        await self._learn_runs()
        found = self.session.found_runs
        alive = [summary for summary in found if summary.alive]
        if not alive and not any(waits(summary) for summary in found):
            return
        if len(self.screen_stack) > 1 or self.current_mode != "fleet":
            return
        await self.switch_mode("runs")
        if len(alive) == 1:
            self.push_screen(RunScreen(self.session, run_id=alive[0].id))

    def _read_runs(self) -> None:
        work(self, self._learn_runs, "runs")

    async def _learn_runs(self) -> None:
        await asyncio.to_thread(self.session.runs)
        self.verified = await asyncio.to_thread(proven, self.session, self.verified)

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

    # -- where one can go -------------------------------------------------------------------------------------------

    def go_to(self, mode: str) -> None:
        self.switch_mode(mode)
        self.poller.focused = mode == "fleet"

    def open_palette(self, screen: Screen[Any]) -> None:
        of = cast("ActingScreen[Any]", screen)

        async def chosen(name: str | None) -> None:
            if name:
                await of.action_do(name)

        self.push_screen(PaletteScreen(self.session, of.NAME, of.situation()), chosen)

    def open_command(self, screen: Screen[Any]) -> None:
        self.commands.open(cast("ActingScreen[Any]", screen))

    def show_said(self, words: Sequence[str]) -> None:
        """What a command that only reads says."""
        self.push_screen(of_command(self.session, words))

    def review(self, run: str) -> None:
        """The events of a run one by one; nothing is touched."""

        async def source(_width: int) -> str:
            directory = find_run(self.session.base, run)
            return await asyncio.to_thread(directory.events_path.read_text, "utf-8", "replace")

        self.push_screen(TextScreen(self.session, f"Events of {run}", source, f"console attach {run} --json"))

    def take_over(self, run: str, targets: Sequence[Target]) -> None:
        """The question before a run of another machine is finished from here."""
        self.push_screen(AgainScreen(self.session, "takeover", run, targets))

    def choose_measure(self, target: Target) -> None:
        def chosen(kind: str | None) -> None:
            if kind:
                self.ask_to_send([*WORDS[kind], target.name], target.name, COSTS[kind])

        self.push_screen(ChooseScreen(self.session, target), chosen)

    def ask_to_send(self, words: Sequence[str], wanted: str, cost: str) -> None:
        def answered(sure: bool | None) -> None:
            if sure:
                self.launch([*words, "--json"])

        self.push_screen(SendsScreen(self.session, words, wanted, cost), answered)

    # -- what is started --------------------------------------------------------------------------------------------

    def launch(self, words: Sequence[str]) -> None:
        """Start `console WORDS` as a process of its own and follow the run it begins."""
        hosts = ["--hosts", str(self.session.inventory.path)] if self.session.inventory.path else []
        start = self.session.launch or (lambda given: launch(given, self.session.environment))
        try:
            started = start([*hosts, *words])
        except ConsoleError as error:
            self.notify(self.session.safe(str(error)), severity="error", timeout=10, markup=False)
            return
        self.follow_started(started)

    def follow_started(self, started: Started) -> None:
        """Onto the screen of a run that was just started; Esc leads to the list of runs."""
        self.session.started.append(started)
        while len(self.screen_stack) > 1:
            self.pop_screen()
        work(self, partial(self._to_run, started), "to run", exclusive=False)

    async def _to_run(self, started: Started) -> None:
        await self.switch_mode("runs")
        while len(self.screen_stack) > 1:
            self.pop_screen()
        await self.push_screen(RunScreen(self.session, started=started))

    def reread_inventory(self) -> None:
        """Hosts that were added or changed since; what is wrong with the file is said and the old one kept."""
        path = self.session.inventory.path
        if path is None:
            return
        try:
            self.session.inventory = load_inventory(path)
        except ConsoleError as error:
            self.notify(self.session.safe(str(error)), severity="error", timeout=10, markup=False)

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


def run_app(
    inventory_path: Path,
    redactor: Redactor | None = None,
    *,
    verbs: Mapping[str, str] | None = None,
    chosen: Mapping[str, object] | None = None,
) -> int:
    """The terminal UI on an inventory, until it is left; the exit code. `chosen` goes before the settings' file.

    Raises InvalidFileError, UsageError.
    """
    environment = dict(os.environ)
    inventory = load_inventory(inventory_path)
    preferences = settings(environment, chosen or {})
    size = shutil.get_terminal_size()
    if size.columns < SMALLEST[0] or size.lines < SMALLEST[1]:
        raise UsageError(
            f"the terminal UI needs {SMALLEST[0]}x{SMALLEST[1]}, this terminal has {size.columns}x{size.lines}",
            hint="console --help names the commands that do not",
        )
    masked = redactor or Redactor()
    looking = Looking(Connections(environment), masked, environment, inventory.results_path)
    session = Session(
        inventory,
        environment,
        masked,
        looking,
        lambda wish: start_run(wish, environment, masked),
        preferences=preferences,
        verbs=verbs or {},
    )
    return asyncio.run(run_session(ConsoleApp(session), looking))


def settings(environment: Mapping[str, str], chosen: Mapping[str, object]) -> Preferences:
    """The settings' file with what the command line said. Raises InvalidFileError."""
    kept = load_preferences(preferences_path(environment))
    return kept.model_copy(update={name: value for name, value in chosen.items() if value is not None})


async def run_session(app: ConsoleApp, looking: Looking) -> int:
    """Run the app with signals mapped to a clean end. Raises what crashed it."""
    loop = asyncio.get_running_loop()
    for number, code in SIGNALS.items():
        loop.add_signal_handler(number, app.stopped, code)
    try:
        await app.run_async(mouse=app.session.preferences.mouse)
    except OSError:
        if not app.lost:
            raise
    finally:
        app.session.look_at_started()
        for started in app.session.started:
            started.close()
        await looking.aclose()
        await looking.connections.aclose()
    if app.lost:
        return SIGNALS[signal.SIGHUP]
    if app.crash is not None:
        raise app.crash
    return app.return_code or 0
