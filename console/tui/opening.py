"""Opening the terminal UI: the names of the inventory at once, the rest of the program behind the first table."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.errors import UsageError
from console.remote.answers import Answers
from console.secrets import Redactor
from console.tui.app import SIGNALS, SMALLEST, ConsoleApp
from console.tui.garbage import little_by_little
from console.tui.preferences import Preferences, load_preferences, preferences_path
from console.tui.session import Session, World

if TYPE_CHECKING:
    from console.remote.login import Prompt


def marked(table: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Hosts of an inventory's table that say with `asks` what they ask for: login, sudo."""
    try:
        usual = table.get("defaults", {}).get("asks", ())
        said = {name: frozenset(told.get("asks", usual)) for name, told in table.get("hosts", {}).items()}
    except (TypeError, AttributeError):
        return {}
    return {name: asks for name, asks in said.items() if asks}


@dataclass(frozen=True)
class Before:
    """What is settled while the terminal is still a plain one: answers so far, who is asked for more, and narration."""

    answers: Answers = field(default_factory=Answers)
    ask: Prompt | None = None
    say: Callable[[str], None] = lambda _text: None


def run_app(
    inventory_path: Path,
    redactor: Redactor | None = None,
    *,
    verbs: Mapping[str, str] | None = None,
    chosen: Mapping[str, object] | None = None,
    before: Before | None = None,
) -> int:
    """The terminal UI on an inventory, until it is left; the exit code. `chosen` goes before the settings' file.

    Raises InvalidFileError, UsageError.
    """
    table = raw_table(inventory_path)
    before = before or Before()
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
        names=target_names(table),
        answers=before.answers,
    )
    asking = {host for host, asks in marked(table).items() if "login" in asks} if before.ask else set()
    return asyncio.run(_run(session, inventory_path, asking, before))


async def _run(session: Session, path: Path, asking: set[str], before: Before) -> int:
    if not asking:
        return await run_session(ConsoleApp(session, lambda: _read(session, path)))
    from console.tui.logins import log_in

    world = await _read(session, path, before.ask)
    await log_in(session, world, asking, before.say)
    session.know(world)
    return await run_session(ConsoleApp(session))


def settings(environment: Mapping[str, str], chosen: Mapping[str, object]) -> Preferences:
    """The settings' file with what the command line said. Raises InvalidFileError."""
    kept = load_preferences(preferences_path(environment))
    told = {name: value for name, value in chosen.items() if value is not None}
    return replace(kept, **told)  # type: ignore[arg-type]


def raw_table(path: Path) -> Mapping[str, Any]:
    """The inventory as TOML, quickly; what is wrong with the file is said by the one who reads it whole."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def target_names(table: Mapping[str, Any]) -> list[str]:
    """What the first table shows."""
    try:
        return [f"{host}/{service}" for host, told in table["hosts"].items() for service in told["services"]]
    except (LookupError, TypeError, AttributeError):
        return []


async def read_world(session: Session, path: Path, ask: Prompt | None = None) -> World:
    """The inventory, and the ways to reach its hosts. Raises InvalidFileError."""
    await asyncio.to_thread(_load)
    from console.tui.world import world_of

    return await world_of(session, path, ask)


async def _read(session: Session, path: Path, ask: Prompt | None = None) -> World:
    """Whatever is loaded is there after this."""
    world = await read_world(session, path, ask)
    little_by_little()
    return world


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
