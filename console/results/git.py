"""Running git: in one folder, with a scrubbed environment, in a session of its own, and never for longer than told."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from console.errors import CommitError
from console.untrusted import decode, one_line

# GIT_DIR, GIT_INDEX_FILE, GIT_WORK_TREE and the like, inherited from a hook or an alias, would send our commit into
# another repository. These only say who commits, how a server is reached, and where configuration is.
KEPT_VARIABLES = frozenset(
    {
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "GIT_ASKPASS",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_EXEC_PATH",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT",
        "GIT_SSL_CAINFO",
        "GIT_SSL_NO_VERIFY",
    }
)
# What a person likes to see would stand among what we read.
PLAIN = ("-c", "log.showSignature=false")
STOP_GRACE_S = 2.0
READ_BYTES = 65536
ERROR_BYTES = 8192


@dataclass(frozen=True)
class Answer:
    """What a git process said. `said` is its complaint on one line."""

    code: int
    out: str
    err: str

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def said(self) -> str:
        lines = [line for line in (self.err or self.out).splitlines() if not line.startswith("hint:")]
        return one_line("\n".join(lines), 400)


def scrubbed(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment git gets. It never looks for a repository above `folder`, never asks, and speaks English."""
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_") or name in KEPT_VARIABLES}
    return kept | {
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
        "LANGUAGE": "en",
    }


class DiedError(Exception):
    """A git that was asked ended instead of answering; carries its exit status and complaint."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.said)
        self.answer = answer


class Talk:
    """Questions to a git that stays, in bytes. Methods raise DiedError, or CommitError when git does not answer."""

    def __init__(
        self, process: subprocess.Popen[bytes], said: IO[bytes], name: str, folder: Path, timeout_s: float
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._said, self._name, self._folder = process, said, name, folder
        self._question, self._answers, self._timeout_s = process.stdin, process.stdout, timeout_s
        self._read = b""
        os.set_blocking(self._question.fileno(), False)

    def ask(self, data: bytes) -> None:
        with suppress(BrokenPipeError):  # why it died is told when its answer is read
            while data:
                self._ready(self._question, select.POLLOUT)
                data = data[os.write(self._question.fileno(), data) :]

    def line(self) -> bytes:
        """The next line of the answer, without its end."""
        while (end := self._read.find(b"\n")) < 0:
            self._more()
        line, self._read = self._read[:end], self._read[end + 1 :]
        return line

    def exactly(self, count: int) -> bytes:
        """The next `count` bytes of the answer."""
        while len(self._read) < count:
            self._more()
        taken, self._read = self._read[:count], self._read[count:]
        return taken

    def _more(self) -> None:
        self._ready(self._answers, select.POLLIN)
        block = os.read(self._answers.fileno(), READ_BYTES)
        if not block:
            self._said.seek(0)
            raise DiedError(Answer(self._process.wait() or 1, "", decode(self._said.read(ERROR_BYTES))))
        self._read += block

    def _ready(self, pipe: IO[bytes], event: int) -> None:
        waiting = select.poll()
        waiting.register(pipe, event)
        if not waiting.poll(self._timeout_s * 1000):
            raise CommitError(f"git {self._name} did not answer in {self._timeout_s:g} s", where=str(self._folder))


class Git:
    """git in one folder."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = scrubbed(environment, folder)

    def run(
        self, *arguments: str, data: str = "", timeout_s: float = 30.0, extra: Mapping[str, str] | None = None
    ) -> Answer:
        """Run `git arguments` with `data` on its standard input. Raises CommitError when it cannot run, or not end.

        A session of its own: Ctrl-C at our terminal does not cut a commit in two, and nothing can ask at the terminal.
        """
        process = self._start(arguments, subprocess.PIPE, subprocess.PIPE, extra)
        try:
            out, err = process.communicate(data.encode("utf-8", "backslashreplace"), timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _stop(process)
            raise CommitError(
                f"git {arguments[0]} did not end within {timeout_s:g} s",
                where=str(self.folder),
                hint=f"git -C {self.folder} status; a hook or a signing key may be waiting for somebody",
            ) from None
        except BaseException:
            _stop(process)
            raise
        return Answer(process.returncode, decode(out), decode(err))

    @contextmanager
    def asked(self, *arguments: str, timeout_s: float = 30.0) -> Iterator[Talk]:
        """A git that stays and answers one question after another. Raises CommitError when it cannot run."""
        with tempfile.TemporaryFile() as said, self._started(arguments, said, subprocess.PIPE) as process:
            yield Talk(process, said, arguments[0], self.folder, timeout_s)

    def _start(
        self, arguments: tuple[str, ...], stdin: int, stderr: int | IO[bytes], extra: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Raises CommitError."""
        try:
            return subprocess.Popen(
                ["git", *PLAIN, *arguments],
                cwd=self.folder,
                env=self.environment | dict(extra or {}),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            missing = "git is not installed" if self.folder.is_dir() else "no such folder"
            raise CommitError(missing, where=str(self.folder)) from error
        except OSError as error:
            raise CommitError(f"git cannot be started: {error.strerror}", where=str(self.folder)) from error

    @contextmanager
    def _started(self, arguments: tuple[str, ...], said: IO[bytes], stdin: int) -> Iterator[subprocess.Popen[bytes]]:
        """A git whose complaints go to a file; it does not outlive its reader. Raises CommitError."""
        process = self._start(arguments, stdin, said)
        assert process.stdout is not None
        try:
            yield process
        finally:
            process.stdout.close()
            if process.poll() is None:
                _stop(process)
            if process.stdin is not None:
                with suppress(BrokenPipeError):
                    process.stdin.close()

    def stream(self, *arguments: str, separator: bytes = b"\0") -> Generator[bytes]:
        """What git writes, piece by piece as `separator` ends them; it is ended when nobody reads on.

        Nothing is kept: a long history costs no memory. Raises CommitError where git says that it failed.
        """
        with tempfile.TemporaryFile() as said:
            with self._started(arguments, said, subprocess.DEVNULL) as process:
                assert process.stdout is not None
                rest = b""
                while block := os.read(process.stdout.fileno(), READ_BYTES):
                    *pieces, rest = (rest + block).split(separator)
                    yield from pieces
                if rest:
                    yield rest
                code = process.wait()
            if code:
                said.seek(0)
                answer = Answer(code, "", decode(said.read(ERROR_BYTES)))
                raise CommitError(f"git {arguments[0]}: {answer.said}", where=str(self.folder))


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started; asked first, so that it takes its lock files away."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=STOP_GRACE_S)
            return
