"""A session of the terminal UI that reaches nothing: hosts from memory, runs from a folder of the test."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from console.clock import SystemClock
from console.errors import StateError
from console.schema.hosts import Inventory
from console.secrets import Redactor
from console.tui.app import ConsoleApp
from console.tui.session import Session
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
        session = Session(fleet, dict(os.environ), redactor or Redactor(), looks, starts, SystemClock())
        return ConsoleApp(session)

    return opens
