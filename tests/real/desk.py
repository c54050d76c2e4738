"""The machine of somebody on call: a home, an inventory, a results repository, and `console` run as they run it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.hosts.fleet import PROJECT
from tests.hosts.host import Host
from tests.hosts.inventory import write_inventory
from tests.runbooks import unmeasured, without_step
from tests.warm import Process, warm

EXTEND_CONTEXT = str(unmeasured())
GIT_CONFIG = """\
[user]
    name = Test Operator
    email = operator@test.invalid
[init]
    defaultBranch = main
"""

Event = dict[str, Any]
AnyProcess = subprocess.Popen[bytes] | Process


class Desk:
    """One operator's machine. Nothing of the machine the tests run on reaches what is started here."""

    def __init__(self, folder: Path, hosts: Sequence[Host], **inventory: Any) -> None:
        self.folder = folder
        self.findings = folder / "findings"
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        (self.home / ".gitconfig").write_text(GIT_CONFIG)
        # Short: a socket's path holds about a hundred bytes.
        self.runtime = tempfile.mkdtemp(prefix="con-")
        weakref.finalize(self, shutil.rmtree, self.runtime, ignore_errors=True)
        self.started: list[AnyProcess] = []
        self.inventory = write_inventory(folder / "hosts.toml", hosts, results=self.findings, **inventory)
        self.environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(PROJECT),
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_RUNTIME_DIR": self.runtime,
        }

    @property
    def runs_folder(self) -> Path:
        return self.folder / "state" / "console" / "runs"

    def run_folders(self) -> list[Path]:
        """Every run's folder, oldest first."""
        return sorted(self.runs_folder.iterdir()) if self.runs_folder.is_dir() else []

    def start(self, *words: str, environment: Mapping[str, str] | None = None) -> Going:
        """`console --hosts … WORDS`, headless: no terminal, nothing on stdin."""
        before = set(self.run_folders())
        number = len(list(self.folder.glob("*.out")))
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        words = ("--hosts", str(self.inventory), *words)
        process = warm().start(words, self.folder, self.environment | dict(environment or {}), out, err)
        self.started.append(process)
        return Going(self, process, out, err, before)

    def console(self, *words: str, environment: Mapping[str, str] | None = None, timeout_s: float = 120.0) -> Done:
        """The same, to its end."""
        return self.start(*words, environment=environment).end(timeout_s)

    def piped(self, *words: str, said: str, timeout_s: float = 120.0) -> subprocess.CompletedProcess[bytes]:
        """`console WORDS` with something on stdin, to its end."""
        command = [sys.executable, "-m", "console", "--hosts", str(self.inventory), *words]
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            input=said.encode(),
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )

    def extend(self, *words: str, environment: Mapping[str, str] | None = None, timeout_s: float = 120.0) -> Done:
        """`console run runbooks/extend_context.toml WORDS`."""
        return self.console("run", EXTEND_CONTEXT, *words, environment=environment, timeout_s=timeout_s)

    def extend_unchecked(self, *words: str, timeout_s: float = 120.0) -> Done:
        """The same without a look at whether it will fit, so that the start or the proof says no."""
        return self.console("run", self.runbook(without_step("capacity.check")), *words, timeout_s=timeout_s)

    def close(self) -> None:
        """End what a failed test left running."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()

    def runbook(self, text: str) -> str:
        """A runbook of this operator's own; returns its path."""
        path = self.folder / "own.toml"
        path.write_text(text)
        return str(path)

    def git(self, *words: str) -> str:
        """What git says in the results repository."""
        done = subprocess.run(
            ["git", "-C", str(self.findings), *words], env=self.environment, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def commits(self) -> list[str]:
        """The subjects in the results repository, newest first; none without a repository."""
        return self.git("log", "--all", "--format=%s").splitlines() if (self.findings / ".git").exists() else []

    def trailers(self, commit: str = "HEAD") -> dict[str, list[str]]:
        """A commit's trailers as git reads them."""
        found: dict[str, list[str]] = {}
        for line in self.git("log", "-1", "--format=%(trailers:only,unfold)", commit).splitlines():
            name, _, value = line.partition(": ")
            found.setdefault(name, []).append(value)
        return found

    def open_runs(self) -> list[dict[str, Any]]:
        """What `console runs --open --json` lists."""
        done = self.console("runs", "--open", "--json")
        assert done.code == 0, done
        return [json.loads(line) for line in done.out.splitlines()]

    def everything(self) -> str:
        """All that is written on this machine: outputs, runs, crash files, and every object of the repository."""
        found = [
            path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and ".git" not in path.relative_to(self.folder).parts and path.parent != self.home
        ]
        if (self.findings / ".git").exists():
            batch = ["git", "-C", str(self.findings), "cat-file", "--batch-all-objects", "--batch"]
            found.append(subprocess.run(batch, env=self.environment, capture_output=True, check=True).stdout)
        return b"\n".join(found).decode(errors="replace")


def plain(narration: str) -> str:
    """Narration as one line, without its columns and without the time at the end of a step's first line."""
    return " ".join(re.sub(r" +\d[\d.]*s$", "", narration, flags=re.MULTILINE).split())


@dataclass(frozen=True)
class Done:
    """A command that ended: its exit code, its output, and the run it made, if any."""

    code: int
    out: str
    err: str
    folder: Path | None
    ended_at: float  # seconds since the epoch

    @property
    def said(self) -> str:
        return plain(self.err)

    @property
    def run_id(self) -> str:
        assert self.folder is not None, f"no run was made\n{self.err}"
        return self.folder.name

    @cached_property
    def events(self) -> list[Event]:
        return read_events(self.folder) if self.folder else []

    def of(self, kind: str) -> list[Event]:
        """The run's events of a type."""
        return [event for event in self.events if event["type"] == kind]

    def step(self, uses: str) -> Event:
        """How the last step of that kind ended."""
        return [event for event in self.of("step.finished") if event["uses"] == uses][-1]

    def finding(self, name: str) -> Any:
        return [event for event in self.of("finding.made") if event["name"] == name][-1]["value"]

    @cached_property
    def record(self) -> dict[str, Any]:
        """record.json of the run's one target."""
        (saved,) = {event["path"] for event in self.of("record.saved")}
        found: dict[str, Any] = json.loads(Path(saved).read_text())
        return found

    @property
    def outcome(self) -> str:
        return str(self.record["outcome"])


@dataclass
class Going:
    """A command that goes on."""

    desk: Desk
    process: AnyProcess
    out: Path
    err: Path
    before: set[Path]

    @property
    def folder(self) -> Path | None:
        """The folder of the run that this process made."""
        for folder in self.desk.run_folders():
            if folder not in self.before and any(
                event.get("pid") == self.process.pid for event in read_events(folder)[:1]
            ):
                return folder
        return None

    def events(self) -> list[Event]:
        folder = self.folder
        return read_events(folder) if folder else []

    def wait_for(self, condition: Callable[[Event], bool], patience_s: float = 60.0) -> Event:
        """The first event that is so. Raises AssertionError when the process ends, or the time, before there is one."""
        deadline = time.monotonic() + patience_s
        while True:
            ended = self.process.poll() is not None
            for event in self.events():
                if condition(event):
                    return event
            assert not ended, f"ended with {self.process.returncode} before that\n{self.err.read_text()}"
            assert time.monotonic() < deadline, f"not within {patience_s} s\n{self.err.read_text()}"
            time.sleep(0.01)

    def wait_for_phase(self, *phases: str) -> Event:
        """Until the wait for the service is in one of these phases."""
        return self.wait_for(lambda event: event["type"] == "step.progress" and event["phase"] in phases)

    def stop(self, number: int = signal.SIGINT) -> float:
        """Send a signal; returns when, in seconds since the epoch."""
        now = time.time()
        self.process.send_signal(number)
        return now

    def end(self, timeout_s: float = 120.0) -> Done:
        """Wait for the end. A process that does not come to one is killed and fails the test."""
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"no end within {timeout_s} s\n{self.err.read_text(errors='replace')}") from None
        ended_at = time.time()
        return Done(
            code,
            self.out.read_text(errors="replace"),
            self.err.read_text(errors="replace"),
            self.folder,
            ended_at,
        )


def read_events(folder: Path) -> list[Event]:
    """The events of a run, as its log has them; a torn last line is left out."""
    try:
        lines = (folder / "events.jsonl").read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines if line.startswith(b"{")]
