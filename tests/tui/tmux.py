"""A real terminal (tmux), and what a person can do with it: press keys and look."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from console.runs.log import read_events
from console.runs.state import RunState, fold

ROOT = Path(__file__).parents[2]
PATIENCE_S = 150.0
# What was typed before a question was shown does not answer it; so long a person would take to read it.
READING_S = 0.8


@dataclass
class Tmux:
    """One terminal with `console` in it; `environment` goes to it, `state` is where its runs are."""

    name: str
    state: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def tmux(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-L", self.name, *words], capture_output=True, text=True, check=False)
        return done.stdout

    def open(self, hosts: Path, columns: int, lines: int) -> None:
        self.open_with(["--hosts", str(hosts)], columns, lines)

    def open_with(self, words: Sequence[str], columns: int, lines: int) -> None:
        """`console WORDS` in a window of that size."""
        given = [
            f"{key}={value}" for key, value in ({"XDG_STATE_HOME": str(self.state)} | dict(self.environment)).items()
        ]
        command = shlex.join(["env", *given, sys.executable, "-m", "console", *words])
        size = ("-x", str(columns), "-y", str(lines))
        full = f"{command}; echo ended with $?; sleep 600"
        start = ["tmux", "-L", self.name, "-f", "/dev/null", "new-session", "-d", "-s", "one", *size, full]
        subprocess.run(start, check=True, cwd=ROOT)

    def close(self) -> None:
        """The window is gone, with everything in it that did not take leave."""
        self.tmux("kill-server")
        # tmux leaves the socket of a server that is gone.
        (Path(os.environ.get("TMUX_TMPDIR", "/tmp")) / f"tmux-{os.getuid()}" / self.name).unlink(missing_ok=True)

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "one", *keys)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-t", "one", "-p")

    def until(self, wanted: str, patience_s: float = PATIENCE_S) -> str:
        return self.until_any([wanted], patience_s)

    def until_any(self, wanted: Sequence[str], patience_s: float = PATIENCE_S) -> str:
        deadline = time.monotonic() + patience_s
        while not any(one in (shown := self.screen()) for one in wanted):
            assert time.monotonic() < deadline, f"never shown: {wanted}\n{shown}"
            time.sleep(0.1)
        return shown

    def run(self) -> RunState:
        """The newest run, from its directory."""
        newest = max((self.state / "console" / "runs").iterdir())
        return fold(read_events(newest / "events.jsonl"))

    def to_the_plan(self, host: str = "lab1", target: str = "lab1/k26") -> str:
        """From the fleet to the plan of extend_context with a larger share of memory, writing switched on."""
        self.until(f"ok {target}")
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
        return self.until(" ready")

    def start_the_main_job(self, host: str = "lab1", target: str = "lab1/k26") -> None:
        """From the fleet to a started run, by keys."""
        shown = self.to_the_plan(host, target)
        assert "--context-length 32768 -> 200000" in shown
        began = len(list((self.state / "console" / "runs").glob("*")))
        # The run key, the host's name and Enter in one write start nothing.
        self.press("r", *host, "Enter")
        self.until(f"Type {host} to carry it out")
        time.sleep(READING_S)
        assert len(list((self.state / "console" / "runs").glob("*"))) == began
        self.press("Escape")
        time.sleep(READING_S)
        self.press("r")
        self.until(f"Type {host} to carry it out")
        time.sleep(READING_S)
        self.press(host, "Enter")


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.2)
