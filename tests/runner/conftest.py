"""A lab and a console on it, as a person would use them: the command line, its exit code, what is on the host."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from console.lab.lab import Lab
from tests.runbooks import unmeasured, without_step
from tests.warm import warm

ROOT = Path(__file__).parents[2]
RUNBOOK = unmeasured()


@dataclass
class Desk:
    """Where an operator sits: an inventory, a state folder, and the console."""

    lab: Lab
    state: Path

    @property
    def environment(self) -> dict[str, str]:
        return dict(os.environ) | {
            "XDG_STATE_HOME": str(self.state),
            "XDG_RUNTIME_DIR": str(self.state / "runtime"),
            "PYTHONPATH": str(ROOT),
        }

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "console", "--hosts", str(self.lab.hosts_toml), *words]

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*words),
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """The whole of a command; nobody sits at it."""
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            given = self.command(*words)[3:]
            code = warm().start(given, Path.cwd(), self.environment | environment, out, err).wait(120)
            return subprocess.CompletedProcess(words, code, out.read_text(), err.read_text())

    def extend(self, *words: str, **environment: str) -> tuple[int, list[dict[str, Any]]]:
        """The main job in JSON: its exit code and its events."""
        return self.extend_with(RUNBOOK, *words, **environment)

    def extend_unchecked(self, *words: str, **environment: str) -> tuple[int, list[dict[str, Any]]]:
        """The main job without a look at whether it will fit, so that only the proof can say no."""
        runbook = self.state / "unchecked.toml"
        runbook.write_text(without_step("capacity.check"))
        return self.extend_with(runbook, *words, **environment)

    def extend_with(self, runbook: Path, *words: str, **environment: str) -> tuple[int, list[dict[str, Any]]]:
        done = self.run("run", str(runbook), "--json", *words, **environment)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    # -- what is so, asked of the host and of git, not of the console --

    @property
    def unit(self) -> str:
        return self.lab.service().unit

    def unit_text(self) -> str:
        return self.lab.service().unit_file.read_text()

    def show(self, *names: str) -> dict[str, str]:
        return self.lab.show(self.unit, *names)

    def git(self, *words: str) -> str:
        folder = self.lab.folder / "results"
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
        return done.stdout

    def commits(self) -> int:
        return int(self.git("rev-list", "--count", "--all")) if (self.lab.folder / "results" / ".git").exists() else 0

    def put_back(self, text: str) -> None:
        """The host as it was: file, loaded unit, running process."""
        self.lab.set_fault(None)
        self.lab.service().unit_file.write_text(text)
        assert self.lab.ask("systemctl", "daemon-reload").status == 0
        self.lab.ask("systemctl", "reset-failed", "--", self.unit)
        assert self.lab.ask("systemctl", "restart", "--no-block", "--", self.unit).status == 0
        asyncio.run(self.lab.wait_ready())


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One lab a file of tests; each test leaves it as it was, through `desk`."""
    folder = tmp_path_factory.mktemp("lab") / "lab"
    running = asyncio.run(Lab.start(folder, load_s=10.0, speed=50.0))
    yield running
    running.stop_now()


@pytest.fixture
def desk(lab: Lab, tmp_path: Path) -> Iterator[Desk]:
    state = tmp_path / "state"
    (state / "runtime").mkdir(parents=True, mode=0o700)
    here = Desk(lab, state)
    before = here.unit_text()
    yield here
    lab.ssh_fault()
    lab.set_fault(None)  # a host that was put back by the run itself keeps it otherwise
    if here.unit_text() != before or not lab.is_ready():
        here.put_back(before)


def of_type(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == kind]
