"""The main job by keys only, in a real terminal (tmux) against a simulated host over real SSH."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console.lab.lab import Lab
from console.runs.directory import RunDirectory
from console.runs.log import read_events
from console.runs.state import fold
from tests.tui.tmux import READING_S, Tmux, wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: no terminal to drive by keys"),
]


def shows(hosts: Path) -> bool:
    """Whether a terminal UI on this inventory still lives."""
    wanted = f"\0-m\0console\0--hosts\0{hosts}\0".encode()
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if command.read_bytes().endswith(wanted):
                return True
    return False


OpenLab = Callable[[float], Lab]


@pytest.fixture
def open_lab(tmp_path: Path) -> Iterator[OpenLab]:
    opened: list[Lab] = []

    def opens(speed: float) -> Lab:
        opened.append(asyncio.run(Lab.start(tmp_path / "lab", speed=speed)))
        return opened[0]

    yield opens
    for lab in opened:
        lab.stop_now()


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    terminal = Tmux(f"console-{os.getpid()}-{tmp_path.name[-20:]}", tmp_path / "state")
    yield terminal
    terminal.close()


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 36)])
def test_verified(open_lab: OpenLab, tmux: Tmux, columns: int, lines: int) -> None:
    lab = open_lab(60.0)
    tmux.open(lab.hosts_toml, columns, lines)
    tmux.start_the_main_job()
    tmux.until("VERIFIED EXIT 0")
    tmux.until("next: console facts lab1/k26")
    wait_for(lambda: tmux.run().finished is not None)
    state = tmux.run()
    assert state.finished is not None
    assert state.finished.commits["lab1/k26"]
    assert (state.exit_code, state.finished.outcomes) == (0, {"lab1/k26": "verified"})
    tmux.press("Escape")
    tmux.until("Runs of this machine")
    tmux.press("1")
    shown = tmux.until("200000  200000  200000   200000")
    assert "203,386" in shown
    tmux.press("q")
    tmux.until("ended with 0")


def test_stopped_in_the_wait_and_left(open_lab: OpenLab, tmux: Tmux) -> None:
    lab = open_lab(3.0)
    tmux.open(lab.hosts_toml, 80, 24)
    tmux.start_the_main_job()
    tmux.until("> running  [11/16]")
    tmux.press("x")
    shown = tmux.until("l  leave")
    for words in ("stops now", "b  roll back", "without service", "w  wait"):
        assert words in shown
    time.sleep(READING_S)
    tmux.press("l")
    shown = tmux.until("APPLIED-UNVERIFIED EXIT 3")
    assert "next: console resume" in shown
    state = tmux.run()
    assert state.finished is not None
    assert state.finished.exit_code == 3
    assert [(abort.how, abort.choice) for abort in state.aborts] == [("tui", "leave")]


def test_stopped_in_the_wait_and_rolled_back(open_lab: OpenLab, tmux: Tmux) -> None:
    lab = open_lab(5.0)
    tmux.open(lab.hosts_toml, 80, 24)
    tmux.start_the_main_job()
    tmux.until("> running  [11/16]")
    tmux.press("x")
    tmux.until("b  roll back")
    time.sleep(READING_S)
    tmux.press("w")
    tmux.until("> running  [11/16]")
    assert tmux.run().aborts == []
    tmux.press("x")
    tmux.until("b  roll back")
    time.sleep(READING_S)
    tmux.press("b")
    tmux.until("PUTTING BACK")
    tmux.until("ROLLED-BACK EXIT 4")
    tmux.press("1")
    tmux.until("32768   32768   32768    32768")
    assert tmux.run().finished is not None


def test_the_window_is_closed_in_the_wait_and_the_run_goes_on(open_lab: OpenLab, tmux: Tmux) -> None:
    lab = open_lab(15.0)
    tmux.open(lab.hosts_toml, 80, 24)
    tmux.start_the_main_job()
    tmux.until("> running  [11/16]")
    tmux.close()
    directory = RunDirectory(max((tmux.state / "console" / "runs").iterdir()))
    wait_for(lambda: not shows(lab.hosts_toml))
    assert directory.alive()
    tmux.open(lab.hosts_toml, 80, 24)
    tmux.until("> running  [")
    tmux.press("q")
    tmux.until("goes on by itself")
    tmux.press("y")
    shown = tmux.until("ended with 0")
    assert "Come back to it with: console" in shown
    wait_for(lambda: not directory.alive())
    assert fold(read_events(directory.events_path)).exit_code == 0
