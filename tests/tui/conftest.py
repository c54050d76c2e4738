"""A session of the terminal UI that reaches nothing: hosts from memory, runs from a folder of the test."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console.clock import SystemClock
from console.errors import StateError
from console.schema.hosts import Inventory
from console.secrets import Redactor
from console.tui.app import ConsoleApp
from console.tui.listing import ListingScreen
from console.tui.session import Seen, Session, World
from console.tui.start import Started, Wish
from tests.tui import made_up

Opens = Callable[..., ConsoleApp]


class Starts:
    """Takes down what would have been started."""

    def __init__(self) -> None:
        self.wishes: list[Wish] = []

    def __call__(self, wish: Wish) -> Started:
        self.wishes.append(wish)
        raise StateError("nothing is started in this test")


async def settle(app: ConsoleApp, pilot: Pilot[None]) -> str:
    """Until every target was looked at once and the screen says so; what it says."""
    targets = app.session.inventory.targets()
    for _ in range(400):
        seen = [app.session.seen.get(target.name, Seen()) for target in targets]
        if all((one.facts is not None or one.error is not None) and not one.reading for one in seen):
            break
        await pilot.pause(0.02)
    for _ in range(8):  # not until all work is done: a run that goes on is followed for ever
        await pilot.pause(0.02)
    if isinstance(app.screen, ListingScreen):
        app.screen.show_rows()
    await pilot.pause()
    return made_up.screen_text(app)


async def watch(app: ConsoleApp, pilot: Pilot[None], until: str) -> str:
    """The screen once it says `until`."""
    shown = ""
    for _ in range(200):
        await pilot.pause(0.05)
        shown = made_up.screen_text(app)
        if until in shown:
            return shown
    raise AssertionError(f"never shown: {until}\n{shown}")


async def choose_extend_context(app: ConsoleApp, pilot: Pilot[None]) -> None:
    """`r`, and the runbook of that name, wherever it stands in the list."""
    await pilot.press("r")
    for _ in range(20):
        await pilot.pause()
        if "runbooks/extend_context.toml" in made_up.screen_text(app):
            break
        await pilot.press("down")
    await pilot.press("enter")


@pytest.fixture
def looks() -> made_up.FakeLooks:
    return made_up.FakeLooks()


@pytest.fixture
def starts() -> Starts:
    return Starts()


@pytest.fixture
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "console" / "runs"


@pytest.fixture
def open_app(looks: made_up.FakeLooks, starts: Starts, state_home: Path) -> Opens:
    """Makes the app; `inventory` stands in for the fleet of one."""

    def opens(inventory: Inventory | None = None, redactor: Redactor | None = None) -> ConsoleApp:
        fleet = inventory or made_up.inventory()
        session = Session(dict(os.environ), redactor or Redactor(), SystemClock())
        return ConsoleApp(session.know(World(fleet, looks, starts)))

    return opens
