"""The main job by keys only, in a real terminal (tmux) against a simulated host over real SSH."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from console.lab.lab import Lab
from console.runs.directory import RunDirectory
from console.runs.log import read_events
from console.runs.state import RunState, fold

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: no terminal to drive by keys"),
]
ROOT = Path(__file__).parents[2]
PATIENCE_S = 150.0
# What was typed before a question was shown does not answer it; so long a person would take to read it.
READING_S = 0.8


@dataclass
class Tmux:
    """One terminal, and what a person can do with it: press keys and look."""

    name: str
    state: Path

    def tmux(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-L", self.name, *words], capture_output=True, text=True, check=False)
        return done.stdout

    def open(self, hosts: Path, columns: int, lines: int) -> None:
        command = shlex.join(["env", f"XDG_STATE_HOME={self.state}", sys.executable, "-m", "console"])
        command += f" --hosts {shlex.quote(str(hosts))}; echo ended with $?; sleep 600"
        size = ("-x", str(columns), "-y", str(lines))
        words = ["tmux", "-L", self.name, "-f", "/dev/null", "new-session", "-d", "-s", "one", *size, command]
        subprocess.run(words, check=True, cwd=ROOT)

    def close(self) -> None:
        """The window is gone, with everything in it that did not take leave."""
        self.tmux("kill-server")

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "one", *keys)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-t", "one", "-p")

    def until(self, wanted: str) -> str:
        deadline = time.monotonic() + PATIENCE_S
        while wanted not in (shown := self.screen()):
            assert time.monotonic() < deadline, f"never shown: {wanted}\n{shown}"
            time.sleep(0.1)
        return shown

    def run(self) -> RunState:
        """The newest run, from its directory."""
        newest = max((self.state / "console" / "runs").iterdir())
        return fold(read_events(newest / "events.jsonl"))

    def start_the_main_job(self) -> None:
        """From the fleet to a started run, by keys."""
        self.until("ok lab1/k26")
        self.press("W")
        self.until("[WRITE 15m]")
        self.press("r")
        self.until("Enter choose")
        while "runbooks/extend_context.toml" not in self.screen():
            self.press("Down")
            time.sleep(READING_S / 2)
        self.press("Enter")
        self.until("Enter plan")
        time.sleep(READING_S)
        for _ in range(2):
            self.press("Tab")
            time.sleep(READING_S / 2)
        self.press("0.92")
        self.until("mem_fraction=0.92")
        self.press("Enter")
        shown = self.until(" ready")
        assert "--mem-fraction-static 0.85 -> 0.92" in shown
        # The run key, the host's name and Enter in one write start nothing.
        self.press("r", "l", "a", "b", "1", "Enter")
        self.until("Type lab1 to carry it out")
        time.sleep(READING_S)
        assert not list((self.state / "console" / "runs").glob("*"))
        self.press("Escape")
        time.sleep(READING_S)
        self.press("r")
        self.until("Type lab1 to carry it out")
        time.sleep(READING_S)
        self.press("lab1", "Enter")


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.2)


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
    # tmux leaves the socket of a server that is gone.
    (Path(os.environ.get("TMUX_TMPDIR", "/tmp")) / f"tmux-{os.getuid()}" / terminal.name).unlink(missing_ok=True)


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 36)])
def test_verified(open_lab: OpenLab, tmux: Tmux, columns: int, lines: int) -> None:
    lab = open_lab(60.0)
    tmux.open(lab.hosts_toml, columns, lines)
    tmux.start_the_main_job()
    tmux.until("VERIFIED EXIT 0")
    tmux.until("same process since it was proven")
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
    tmux.until("> running  [11/15]")
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
    tmux.until("> running  [11/15]")
    tmux.press("x")
    tmux.until("b  roll back")
    time.sleep(READING_S)
    tmux.press("w")
    tmux.until("> running  [11/15]")
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
    lab = open_lab(5.0)
    tmux.open(lab.hosts_toml, 80, 24)
    tmux.start_the_main_job()
    tmux.until("> running  [11/15]")
    tmux.close()
    directory = RunDirectory(max((tmux.state / "console" / "runs").iterdir()))
    wait_for(lambda: not shows(lab.hosts_toml))
    assert directory.alive()
    tmux.open(lab.hosts_toml, 80, 24)
    tmux.until("RUNNING")
    tmux.press("q")
    tmux.until("goes on by itself")
    tmux.press("y")
    shown = tmux.until("ended with 0")
    assert "Come back to it with: console" in shown
    wait_for(lambda: not directory.alive())
    assert fold(read_events(directory.events_path)).exit_code == 0
