"""Processes of `console` that begin with its modules loaded: forks of one that has done nothing else yet.

Loading takes half a second of a processor for each command, and these tests give hundreds; what a process loads when it
begins by itself is tests/cli's to see. `python -m tests.warm FD` is who is forked, and ends with its parent.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
LAZY = ("httpx", "httpcore", "rich.console")  # what is loaded on the way
NOT_OURS = ("console.tui", "console.lab", "console.__main__")
ENDED = struct.Struct("i")


class Process:
    """As much of subprocess.Popen as these tests ask for; `end` is where its exit status comes in."""

    def __init__(self, pid: int, end: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._end = end

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("console", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout_s: float | None) -> int | None:
        if self.returncode is None and select.select([self._end], [], [], timeout_s)[0]:
            (self.returncode,) = ENDED.unpack(os.read(self._end, ENDED.size))
            os.close(self._end)
        return self.returncode


class Warm:
    """The process that is forked, and who asks it."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.warm", str(theirs.fileno())],
                cwd=PROJECT,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        weakref.finalize(self, close, self.door, process)

    def start(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str], out: Path, err: Path
    ) -> Process:
        """`console WORDS` there, with nothing on stdin."""
        asked = json.dumps({"words": list(words), "folder": str(folder), "environment": dict(environment)}).encode()
        end, theirs = os.pipe()
        try:
            with out.open("wb") as stdout, err.open("wb") as stderr, self.turn:
                socket.send_fds(self.door, [asked], [stdout.fileno(), stderr.fileno(), theirs])
                pid = int(self.door.recv(32))
        finally:
            os.close(theirs)
        return Process(pid, end)


def close(door: socket.socket, process: subprocess.Popen[bytes]) -> None:
    door.close()
    process.wait(10)


_FIRST = threading.Lock()


def warm() -> Warm:
    """The one of this process. Of two that threads made at once, one would go, and take what it had forked with it."""
    with _FIRST:
        return _warm()


@functools.cache
def _warm() -> Warm:
    return Warm()


def load() -> None:
    """Everything that a command may load, but what is nobody's."""
    console = importlib.import_module("console")
    for module in pkgutil.walk_packages(console.__path__, "console."):
        if not module.name.startswith(NOT_OURS):
            importlib.import_module(module.name)
    for name in LAZY:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def serve(door: socket.socket) -> bool:
    """Fork for everything that is asked. True in the new process, which is to be `console`; False when nobody asks."""
    awake, wake = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    waited: dict[int, int] = {}
    while True:
        ready = select.select([door.fileno(), awake], [], [])[0]
        if awake in ready:
            os.read(awake, 512)
            tell(waited)
        if door.fileno() not in ready:
            continue
        asked, descriptors, _, _ = socket.recv_fds(door, 1 << 20, 3)
        if not asked:
            return False
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            door.close()
            for descriptor in (awake, wake, *waited.values(), descriptors[2]):
                os.close(descriptor)
            become(json.loads(asked), *descriptors[:2])
            return True
        os.close(descriptors[0])
        os.close(descriptors[1])
        waited[pid] = descriptors[2]
        door.send(str(pid).encode())


def tell(waited: dict[int, int]) -> None:
    """Say of each that ended how it did."""
    while waited:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        end = waited.pop(pid)
        os.write(end, ENDED.pack(os.waitstatus_to_exitcode(status)))
        os.close(end)


def become(asked: dict[str, object], out: int, err: int) -> None:
    os.setsid()
    for descriptor, number in ((out, 1), (err, 2)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    folder, environment, words = asked["folder"], asked["environment"], asked["words"]
    assert isinstance(folder, str)
    assert isinstance(environment, dict)
    assert isinstance(words, list)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = ["console", *words]


if __name__ == "__main__":
    load()
    with socket.socket(fileno=int(sys.argv[1])) as ours:
        forked = serve(ours)
    if forked:
        importlib.import_module("console.__main__").main()
