"""Running the machine's own tools for the hosts of the tests."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


class CommandError(RuntimeError):
    """A tool ended with an error; the message carries what it said."""

    def __init__(self, argv: Sequence[str], status: int, said: str) -> None:
        super().__init__(f"{' '.join(argv)!r} ended with {status}: {said.strip()}")
        self.status = status
        self.said = said


def run(
    argv: Sequence[str], *, input_bytes: bytes | None = None, check: bool = True, timeout_s: float = 60.0
) -> subprocess.CompletedProcess[bytes]:
    """The finished process. Raises CommandError unless `check` is off, subprocess.TimeoutExpired when it hangs."""
    # Empty input, not an inherited terminal, for a program that was given none.
    done = subprocess.run(list(argv), input=input_bytes or b"", capture_output=True, timeout=timeout_s, check=False)
    if check and done.returncode != 0:
        raise CommandError(argv, done.returncode, (done.stderr or done.stdout).decode(errors="replace"))
    return done


def text(data: bytes) -> str:
    """Bytes of a host as text; what is not UTF-8 survives a round trip."""
    return data.decode("utf-8", "surrogateescape")
