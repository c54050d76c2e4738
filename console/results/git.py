"""Running git: in one folder, with a scrubbed environment, in a session of its own, and never for longer than told."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
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
    def asked(self, *arguments: str, timeout_s: float = 30.0) -> Iterator[Callable[[str], Answer]]:
        """A git that stays: what is asked gets one line as its answer. Raises CommitError when it cannot run, or waits.

        The first question that it dies of is answered with its exit status and complaint.
        """
        with tempfile.TemporaryFile() as said, self._started(arguments, said, subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            question, answers = process.stdin, process.stdout

            os.set_blocking(question.fileno(), False)

            def ready(pipe: IO[bytes], event: int) -> None:
                waiting = select.poll()
                waiting.register(pipe, event)
                if not waiting.poll(timeout_s * 1000):
                    raise CommitError(f"git {arguments[0]} did not answer in {timeout_s:g} s", where=str(self.folder))

            def ask(data: str) -> Answer:
                line, left = b"", data.encode("utf-8", "backslashreplace")
                with suppress(BrokenPipeError):
                    while left:
                        ready(question, select.POLLOUT)
                        left = left[os.write(question.fileno(), left) :]
                while not line.endswith(b"\n"):
                    ready(answers, select.POLLIN)
                    if not (block := os.read(answers.fileno(), READ_BYTES)):
                        said.seek(0)
                        return Answer(process.wait() or 1, "", decode(said.read(ERROR_BYTES)))
                    line += block
                return Answer(0, decode(line), "")

            yield ask

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
