"""The application: its screens, how it begins and ends, and what a signal or a bug does to it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

from rich.text import Text
from textual.app import App
from textual.screen import Screen

from console.errors import UsageError
from console.planning.preview import Looking
from console.remote.ssh import Connections
from console.schema.hosts import load_inventory
from console.secrets import Redactor
from console.tui.driver import TerminalDriver
from console.tui.fleet import FleetScreen
from console.tui.leave import LeaveScreen, going_on
from console.tui.session import Session
from console.tui.start import start_run

SMALLEST = (60, 15)
# What a shell reports for a process that a signal ended: textual alone would say 0, or leave the terminal as it is.
SIGNALS = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}


class ConsoleApp(App[None]):
    """Shows and starts; it never carries out anything itself, so its end ends no run."""

    TITLE = "console"
    CSS_PATH = "console.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, session: Session) -> None:
        # textual: NO_COLOR turns colours into greys, a failure dimmer than the rest; the terminal's own two do better.
        super().__init__(driver_class=TerminalDriver, ansi_color=True if "NO_COLOR" in os.environ else None)
        self.session = session
        self.crash: Exception | None = None
        self.lost = False
        self.animation_level = "none"

    def get_default_screen(self) -> Screen[None]:
        return FleetScreen(self.session)

    def on_mount(self) -> None:
        self.set_interval(0.5, self.session.look_at_started)

    async def action_quit(self) -> None:
        alive = self.session.alive()
        if alive:
            self.push_screen(LeaveScreen(alive), self._leave)
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


def run_app(inventory_path: Path, redactor: Redactor | None = None) -> int:
    """The terminal UI on an inventory, until it is left; the exit code. Raises InvalidFileError, UsageError."""
    inventory = load_inventory(inventory_path)
    size = shutil.get_terminal_size()
    if size.columns < SMALLEST[0] or size.lines < SMALLEST[1]:
        raise UsageError(
            f"the terminal UI needs {SMALLEST[0]}x{SMALLEST[1]}, this terminal has {size.columns}x{size.lines}",
            hint="console --help names the commands that do not",
        )
    masked = redactor or Redactor()
    environment = dict(os.environ)
    looking = Looking(Connections(environment), masked, environment, inventory.results_path)
    session = Session(inventory, environment, masked, looking, lambda wish: start_run(wish, environment, masked))
    return asyncio.run(run_session(ConsoleApp(session), looking.connections))


async def run_session(app: ConsoleApp, connections: Connections) -> int:
    """Run the app with signals mapped to a clean end. Raises what crashed it."""
    loop = asyncio.get_running_loop()
    for number, code in SIGNALS.items():
        loop.add_signal_handler(number, app.stopped, code)
    try:
        await app.run_async()
    except OSError:
        if not app.lost:
            raise
    finally:
        app.session.look_at_started()
        for started in app.session.started:
            started.close()
        await connections.aclose()
    if app.lost:
        return SIGNALS[signal.SIGHUP]
    if app.crash is not None:
        raise app.crash
    return app.return_code or 0
