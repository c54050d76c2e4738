"""Alone owns stdout, stderr and the exit: stdout is data, stderr is narration."""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from console.cli.mask_key import mask_key
from console.errors import ConsoleError, InternalError
from console.secrets import Redactor
from console.untrusted import clean

INTERRUPTED = 130
# What a shell reports for a process ended by SIGPIPE: the reader of our output went away.
BROKEN_PIPE = 141


@dataclass
class Ending:
    code: int = 0


class Output:
    """Everything the command line says goes through here, so that nothing hostile and no secret gets out."""

    def __init__(self) -> None:
        self.redactor = Redactor(mask_key)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A locale without UTF-8 must not cost a result for the sake of one character; stderr is so by itself.
            sys.stdout.reconfigure(errors="backslashreplace")

    @property
    def is_terminal(self) -> bool:
        return sys.stdin.isatty() and sys.stderr.isatty()

    @property
    def color(self) -> bool:
        return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and sys.stdout.isatty()

    def data(self, text: str) -> None:
        """A line, or lines, of the answer."""
        sys.stdout.write(clean(self.redactor.text(text)) + "\n")
        sys.stdout.flush()

    def json(self, value: object) -> None:
        """A value as one line of JSON. Masked as a tree: masking its text could cut a string open."""
        text = json.dumps(self.redactor.tree(value))
        # JSON lets DEL stand as it is; a terminal does not.
        sys.stdout.write(text.replace("\x7f", "\\u007f") + "\n")
        sys.stdout.flush()

    def raw(self, text: str) -> None:
        """Text that is already made for this terminal by us (styled views); secrets are masked all the same."""
        sys.stdout.write(self.redactor.text(text) + "\n")
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Narration."""
        sys.stderr.write(clean(self.redactor.text(text)) + "\n")
        sys.stderr.flush()

    def prompt(self, text: str) -> None:
        """Narration that the answer is typed behind."""
        sys.stderr.write(clean(self.redactor.text(text)))
        sys.stderr.flush()

    def let_go(self) -> None:
        """Stop writing to a stdout or stderr that nobody reads any more; Python would complain again at its end."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

    def read_line(self) -> str:
        """One line of the terminal; empty at its end."""
        return sys.stdin.readline()

    def error(self, error: ConsoleError) -> int:
        """One clear message: what, where, what to do next. Returns the exit code."""
        self._last_words(f"console: {error}")
        return error.exit_code

    def _last_words(self, text: str) -> None:
        """Narration of an end; whether anybody can still read it changes no exit code."""
        try:
            self.note(text)
        except OSError:
            self.let_go()

    @contextmanager
    def ending(self) -> Iterator[Ending]:
        """Map what ends a command to its exit code; a bug leaves a traceback without local values in a file."""
        end = Ending()
        try:
            yield end
        except ConsoleError as error:
            end.code = self.error(error)
        except KeyboardInterrupt:
            self._last_words("console: interrupted")
            end.code = INTERRUPTED
        except BrokenPipeError:
            self.let_go()
            end.code = BROKEN_PIPE
        except Exception as error:  # noqa: BLE001 - the last place that can turn a bug into a message
            kept = self._keep_traceback(error)
            end.code = self.error(InternalError(f"{type(error).__name__}: {error}", hint=f"this is a bug; {kept}"))

    def _keep_traceback(self, error: Exception) -> str:
        """Write the traceback to a file of the operator's; says where it is."""
        path = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "console" / "crash.txt"
        text = self.redactor.text("".join(traceback.format_exception(error)))
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
        except (OSError, RuntimeError) as problem:
            return f"its traceback could not be kept in {path}: {problem}"
        return f"the traceback is in {path}"
