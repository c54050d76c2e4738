"""Ending what a lab has started: every process that has the lab's own folder first on its PATH."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def bin_folder(folder: Path) -> Path:
    return folder / "bin"


def processes(folder: Path) -> list[int]:
    """Ids of the processes that run inside this lab."""
    mark = b"PATH=" + os.fsencode(bin_folder(folder)) + b":"
    found = []
    for entry in os.listdir("/proc"):  # noqa: PTH208 - names are enough
        if not entry.isdecimal():
            continue
        with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as file:  # noqa: PTH123 - as above
            if any(variable.startswith(mark) for variable in file.read().split(b"\0")):
                found.append(int(entry))
    return found


def sweep(folder: Path, patience_s: float = 5.0) -> list[int]:
    """Kill them all and wait until they are gone; what is still there after `patience_s` is returned."""
    end = time.monotonic() + patience_s
    while True:
        left = [pid for pid in processes(folder) if pid != os.getpid()]
        if not left or time.monotonic() > end:
            return left
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def stand_guard(folder: Path) -> int:
    """Fork a process that sweeps when this one ends, however it ends; its id. Call it before anything has a thread."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(reading)
        os.set_inheritable(writing, False)
        return pid
    try:
        os.setsid()
        os.close(writing)
        for fd in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)
        while os.read(reading, 1):
            pass
        sweep(folder)
    finally:
        os._exit(0)
