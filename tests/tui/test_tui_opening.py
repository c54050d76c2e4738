"""The first table stands before anything heavy is loaded; keys pressed meanwhile are not lost."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from console.clock import SystemClock
from console.errors import InvalidFileError
from console.secrets import Redactor
from console.tui.app import ConsoleApp
from console.tui.opening import raw_table, read_world, target_names
from console.tui.session import Session, World
from tests.tui import made_up
from tests.tui.conftest import Starts, settle, watch

# What a minimal Textual app with the same widgets loads, and all that the first table may load.
MINIMAL = "from textual.app import App; from textual.widgets import DataTable, Footer, Header"
OURS = """\
import console.cli.main, console.cli.terminal, console.tui.opening
console.cli.terminal.needs_terminal = lambda: None
console.tui.opening.run_app = lambda *_told, **_more: 0
assert console.cli.main.run(["--hosts", "hosts.toml"]) == 0
"""
HEAVY = {"asyncssh", "cryptography", "git", "httpx", "numpy", "pydantic", "scipy", "tomlkit"}


def modules(code: str) -> set[str]:
    words = [sys.executable, "-c", f"{code}\nimport sys; print('\\n'.join(sys.modules))"]
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


def test_the_first_table_loads_little_more_than_a_minimal_app() -> None:
    least, mine = modules(MINIMAL), modules(OURS)
    assert {name.partition(".")[0] for name in mine}.isdisjoint(HEAVY)
    assert len(mine) <= 1.25 * len(least)


async def test_names_stand_there_before_the_world_is_read_and_keys_wait_for_it(state_home: Path) -> None:
    go_on = asyncio.Event()
    session = Session(dict(os.environ), Redactor(), SystemClock(), names=["node7/chat"])

    async def read() -> World:
        await go_on.wait()
        return World(made_up.inventory(), made_up.FakeLooks(), Starts())

    app = ConsoleApp(session, read)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.1)
        shown = made_up.screen_text(app)
        assert ".. node7/chat" in shown
        assert "reading the inventory" in shown
        pressed = asyncio.create_task(pilot.press("r"))
        await asyncio.sleep(0.05)
        assert "Fleet 1 target" in made_up.screen_text(app)
        go_on.set()
        await pressed
        await watch(app, pilot, "extend_context")
        await pilot.press("escape")
        assert "ok node7/chat" in await settle(app, pilot)


async def test_an_inventory_that_cannot_be_read_ends_it_with_what_is_wrong(state_home: Path, tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text("schema = 1\n[hosts.node7.services.chat]\nengine = 7\n")
    assert target_names(raw_table(path)) == ["node7/chat"]
    session = Session(dict(os.environ), Redactor(), SystemClock(), names=target_names(raw_table(path)))
    app = ConsoleApp(session, lambda: read_world(session, path))
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(200):
            if app.crash is not None:
                break
            await pilot.pause(0.05)
    assert isinstance(app.crash, InvalidFileError)


@pytest.mark.parametrize("text", ["", "hosts = 3", "[hosts]\na = 1", "[hosts.a]\nservices = 2", "\x00", "[hosts.a"])
def test_names_of_a_broken_inventory_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text(text)
    assert target_names(raw_table(path)) == []
