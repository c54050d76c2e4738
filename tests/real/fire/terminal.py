"""`console` at a terminal of its own, with somebody who types and a note of when each thing came to be seen."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
import threading
import time
from contextlib import suppress
from pathlib import Path

from tests.real.desk import Desk, Going


class Terminal:
    """80 columns, and the process has it as its controlling terminal: what is typed as Ctrl-C is a signal there."""

    def __init__(self, desk: Desk, *words: str) -> None:
        self.seen: list[tuple[float, bytes]] = []
        self.controller, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        before = set(desk.run_folders())
        process = subprocess.Popen(
            [sys.executable, "-m", "console", "--hosts", str(desk.inventory), *words],
            cwd=desk.folder,
            env=desk.environment | {"TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        desk.started.append(process)
        self.going = Going(desk, process, Path(os.devnull), Path(os.devnull), before)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        with suppress(OSError):
            while data := os.read(self.controller, 65536):
                self.seen.append((time.time(), data))

    def type(self, text: str) -> float:
        """Type it; returns when, in seconds since the epoch."""
        now = time.time()
        os.write(self.controller, text.encode())
        return now

    def text(self, since: float = 0.0) -> str:
        return b"".join(data for at, data in list(self.seen) if at >= since).decode(errors="replace")

    def shown(self, text: str, since: float, patience_s: float = 30.0) -> float:
        """When this was on the screen, first seen after `since`. Raises AssertionError when it does not come."""
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            whole = b""
            for at, data in list(self.seen):
                if at < since:
                    continue
                whole += data
                if text.encode() in whole:
                    return at
            time.sleep(0.002)
        raise AssertionError(f"{text!r} was not shown within {patience_s} s:\n{self.text(since)[-2000:]}")

    def close(self) -> None:
        with suppress(ProcessLookupError):
            self.going.process.kill()
        self.going.process.wait()
        self.reader.join(5.0)
        os.close(self.controller)
