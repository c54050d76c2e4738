"""Opening the terminal UI: the names of the inventory at once, the rest of the program behind the first table."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from console.errors import UsageError
from console.secrets import Redactor
from console.tui.app import SIGNALS, SMALLEST, ConsoleApp
from console.tui.preferences import Preferences, load_preferences, preferences_path
from console.tui.session import Session, World


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
    preferences = settings(environment, chosen or {})
    size = shutil.get_terminal_size()
    if size.columns < SMALLEST[0] or size.lines < SMALLEST[1]:
        raise UsageError(
            f"the terminal UI needs {SMALLEST[0]}x{SMALLEST[1]}, this terminal has {size.columns}x{size.lines}",
            hint="console --help names the commands that do not",
        )
    session = Session(
        environment,
        redactor or Redactor(),
        preferences=preferences,
        verbs=verbs or {},
        inventory_path=inventory_path,
        names=target_names(inventory_path),
    )
    return asyncio.run(run_session(ConsoleApp(session, lambda: read_world(session, inventory_path))))


def settings(environment: Mapping[str, str], chosen: Mapping[str, object]) -> Preferences:
    """The settings' file with what the command line said. Raises InvalidFileError."""
    kept = load_preferences(preferences_path(environment))
    told = {name: value for name, value in chosen.items() if value is not None}
    return replace(kept, **told)  # type: ignore[arg-type]


def target_names(path: Path) -> list[str]:
    """What the first table shows; what is wrong with the file is said by the one who reads it whole."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        return [f"{host}/{service}" for host, told in table["hosts"].items() for service in told["services"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


async def read_world(session: Session, path: Path) -> World:
    """The inventory, and the ways to reach its hosts. Raises InvalidFileError."""
    await asyncio.to_thread(_load)
    from console.tui.world import world_of

    return await world_of(session, path)


def _load() -> None:
    """In a thread, so that keys are heard meanwhile."""
    import console.tui.held
    import console.tui.ways
    import console.tui.world  # noqa: F401


async def run_session(app: ConsoleApp) -> int:
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
        await app.session.close()
    if app.lost:
        return SIGNALS[signal.SIGHUP]
    if app.crash is not None:
        raise app.crash
    return app.return_code or 0
