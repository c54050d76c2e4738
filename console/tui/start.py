"""Starting `console run` and its kin as processes of their own, which outlive this one, and learning their run's id."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from console.clock import SystemClock, ulid
from console.errors import StateError
from console.planning.saved import save_plan
from console.remote.answers import Answers, answers_for
from console.runs.directory import base_folder, private_folder
from console.runs.log import parse_line
from console.schema.events import RunStarted
from console.schema.hosts import Inventory
from console.schema.plan import Plan
from console.schema.runbook import Runbook
from console.secrets import Redactor

COMPLAINT_BYTES = 8192
READ_BYTES = 256 * 1024


@dataclass(frozen=True)
class Wish:
    """What a person confirmed: exactly these plans."""

    runbook: Runbook
    inventory: Inventory
    plans: tuple[Plan, ...]
    reason: str = ""
    accept_pending: bool = False


@dataclass
class Started:
    """A run's process. Its output goes to files without a name, so nothing is left of them when both have ended.

    Of an experiment it makes one run after the other: `run_id` is the newest, `table` what it says at its end.
    """

    process: subprocess.Popen[bytes]
    events: IO[bytes]
    complaints: IO[bytes]
    plan_path: Path | None = None
    run_id: str = ""
    table: tuple[str, ...] = ()
    _more: bool = True  # whether what it writes is still of interest
    _at: int = 0
    _rest: bytes = field(default=b"", repr=False)

    def look(self) -> None:
        """Learn the run's id as soon as it says it, and reap its process when it has ended."""
        ended = self.process.poll() is not None
        if self._more:
            # pread: the position of the file is shared with the process that writes there.
            said = os.pread(self.events.fileno(), READ_BYTES, self._at)
            self._at += len(said)
            *lines, self._rest = (self._rest + said).split(b"\n")
            for line in lines:
                self._take(line)
        if self.plan_path is not None and (ended or self.run_id):
            self.plan_path.unlink(missing_ok=True)
            self.plan_path = None

    def _take(self, line: bytes) -> None:
        if line.startswith(b'{"experiment"'):
            with contextlib.suppress(ValueError):
                self.table = tuple(map(str, json.loads(line).get("table", ())))
        event = parse_line(line) if b"run.started" in line else None
        if isinstance(event, RunStarted):
            self.run_id = event.run
            self._more = bool(event.parent)

    @property
    def exit_code(self) -> int | None:
        """None while it goes on."""
        return self.process.returncode

    def close(self) -> None:
        """Let go of its output; the process goes on and keeps its own end."""
        self.events.close()
        self.complaints.close()

    def complaint(self) -> str:
        """What it wrote to stderr: why it did not begin."""
        return os.pread(self.complaints.fileno(), COMPLAINT_BYTES, 0).decode("utf-8", "replace")

    def last_words(self) -> list[str]:
        """The end of what it wrote to stderr: why it went no further, and what to do next."""
        size = os.fstat(self.complaints.fileno()).st_size
        said = os.pread(self.complaints.fileno(), COMPLAINT_BYTES, max(0, size - COMPLAINT_BYTES))
        return said.decode("utf-8", "replace").strip().splitlines()[-2:]


def start_run(
    wish: Wish, environment: Mapping[str, str], redactor: Redactor, answers: Answers | None = None
) -> Started:
    """Keep the plan, and start a process that carries out exactly that (exit 8 when the host has changed since).

    In a session of its own, without our terminal: closing the lid or the window does not reach it. Raises StateError.
    """
    plan_id = ulid(SystemClock().now(), secrets.token_bytes(10))
    path = base_folder(environment).parent / "plans" / f"{plan_id}.json"
    try:
        private_folder(path.parent)
    except OSError as error:
        raise StateError(f"cannot write: {error.strerror or error}", where=str(path.parent)) from error
    save_plan(path, wish.runbook, wish.inventory, list(wish.plans), plan_id, redactor)
    words = ["run", "--plan", str(path), "--yes", "--json"]
    words += ["--reason", wish.reason] if wish.reason else []
    words += ["--accept-pending"] if wish.accept_pending else []
    try:
        return launch(words, environment, answers, plan_path=path)
    except StateError:
        path.unlink(missing_ok=True)
        raise


def launch(
    words: Sequence[str],
    environment: Mapping[str, str],
    answers: Answers | None = None,
    *,
    plan_path: Path | None = None,
) -> Started:
    """`console WORDS` in a session of its own, without our terminal; it inherits `answers` in a pipe.

    Raises StateError when it cannot be started.
    """
    descriptors, more = answers_for(words, answers, followed=True)
    events, complaints = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - both outlive this call
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "console", *words, *more],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=events,
            stderr=complaints,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError as error:
        raise StateError(f"cannot start the run: {error.strerror or error}", where=sys.executable) from error
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return Started(process, events, complaints, plan_path)


def command_line(
    runbook: Runbook,
    targets: str | Sequence[str],
    given: Mapping[str, str],
    *,
    verb: str = "run",
    accept_pending: bool = False,
) -> str:
    """The same on the command line."""
    words = ["console", verb, runbook.path, *([targets] if isinstance(targets, str) else targets)]
    for name, value in given.items():
        words += ["--set", f"{name}={value}"]
    words += ["--accept-pending"] if accept_pending else []
    return shlex.join(words)
