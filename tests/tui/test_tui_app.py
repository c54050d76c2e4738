"""How the program ends: signals, bugs, small terminals; the terminal is given back as it was."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tui import made_up
from tests.views import story

HOSTS = """\
schema = 1
[hosts.node7]
address = "127.0.0.1"
port = 9
[hosts.node7.services.chat]
unit = "sglang-chat.service"
engine = "sglang"
url = "http://127.0.0.1:30000"
"""
CRASHES = """\
import sys
from console.__main__ import main
from console.tui.fleet import FleetScreen
def action_handover(self):
    token = "correct-horse-battery"
    raise RuntimeError("a bug")
FleetScreen.action_handover = action_handover
sys.argv = ["console", *sys.argv[1:]]
sys.exit(main())
"""
# A screen that changes all the time, as that of a run does.
BUSY = """\
import sys
from console.__main__ import main
from console.tui.app import ConsoleApp
from console.tui.fleet import FleetScreen
mount = ConsoleApp.on_mount
def on_mount(self):
    mount(self)
    self.set_interval(0.02, lambda: self.screen.show_title(str(self.session.clock.monotonic()) * 3))
ConsoleApp.on_mount = on_mount
sys.argv = ["console", *sys.argv[1:]]
sys.exit(main())
"""
BACK = b"\x1b[?1049l"  # leave the alternate screen
MOUSE_OFF = b"\x1b[?1000l"


@dataclass
class Terminal:
    """A program on a terminal of its own."""

    process: subprocess.Popen[bytes]
    descriptor: int
    output: bytes = b""

    def read_until(self, wanted: bytes, limit_s: float = 60.0) -> None:
        deadline = time.monotonic() + limit_s
        while wanted not in self.output:
            assert time.monotonic() < deadline, self.output[-2000:]
            self.read_some()

    def read_some(self) -> bool:
        ready, _, _ = select.select([self.descriptor], [], [], 0.1)
        if not ready:
            return True
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:  # Linux: EIO once nobody has the other side open
            return False
        self.output += data
        return bool(data)

    def ended(self, limit_s: float = 30.0) -> int:
        deadline = time.monotonic() + limit_s
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it does not end"
            self.read_some()
        while self.read_some() and select.select([self.descriptor], [], [], 0)[0]:
            pass
        return self.process.returncode


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    path = tmp_path / "hosts.toml"
    path.write_text(HOSTS)
    return path


@contextlib.contextmanager
def on_terminal(
    words: list[str], state: Path, *, columns: int = 80, lines: int = 24, **environment: str
) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    surroundings = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=surroundings | {"TERM": "xterm-256color", "XDG_STATE_HOME": str(state)} | environment,
        start_new_session=True,
    )
    os.close(theirs)
    terminal = Terminal(process, ours)
    try:
        yield terminal
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)], ids=str
)
def test_a_signal_gives_the_terminal_back_and_says_which(
    hosts: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with on_terminal(["-m", "console", "--hosts", str(hosts)], tmp_path) as terminal:
        terminal.read_until(b"unreachable")
        terminal.process.send_signal(number)
        assert terminal.ended() == code
    assert BACK in terminal.output
    assert MOUSE_OFF in terminal.output


def test_a_terminal_that_goes_away_without_a_signal_ends_it(hosts: Path, tmp_path: Path) -> None:
    # It is not the controlling terminal of the program, so the kernel sends no SIGHUP.
    with on_terminal(["-c", BUSY, "--hosts", str(hosts)], tmp_path) as terminal:
        terminal.read_until(b"unreachable")
        os.close(terminal.descriptor)
        terminal.descriptor = os.open(os.devnull, os.O_RDONLY)
        assert terminal.process.wait(30) == 129


def test_q_ends_well(hosts: Path, tmp_path: Path) -> None:
    with on_terminal(["-m", "console", "--hosts", str(hosts)], tmp_path) as terminal:
        terminal.read_until(b"unreachable")
        os.write(terminal.descriptor, b"\x03")
        terminal.read_until(b"Ctrl-C does")
        assert terminal.process.poll() is None
        os.write(terminal.descriptor, b"q")
        assert terminal.ended() == 0
    assert BACK in terminal.output


def test_a_bug_is_told_without_the_values_it_had_in_hand(hosts: Path, tmp_path: Path) -> None:
    with on_terminal(["-c", CRASHES, "--hosts", str(hosts)], tmp_path) as terminal:
        terminal.read_until(b"unreachable")
        os.write(terminal.descriptor, b"H")
        assert terminal.ended() == 1
    after = terminal.output.rpartition(BACK)[2]
    assert b"RuntimeError: a bug" in after
    assert b"the traceback is in" in after
    assert b"correct-horse" not in terminal.output
    kept = (tmp_path / "console" / "crash.txt").read_text()
    assert "action_handover" in kept
    assert "locals" not in kept


def test_a_terminal_too_small_is_refused_with_what_to_use_instead(hosts: Path, tmp_path: Path) -> None:
    with on_terminal(["-m", "console", "--hosts", str(hosts)], tmp_path, columns=50, lines=12) as terminal:
        assert terminal.ended() == 2
    assert b"needs 40x15, this terminal has 50x12" in terminal.output
    assert b"console --help" in terminal.output
    assert b"\x1b[?1049h" not in terminal.output


def test_without_colour_the_screen_has_none(hosts: Path, tmp_path: Path) -> None:
    with on_terminal(["-m", "console", "--hosts", str(hosts)], tmp_path, NO_COLOR="1") as terminal:
        terminal.read_until(b"unreachable")
        os.write(terminal.descriptor, b"q")
        assert terminal.ended() == 0
    for colour in (b"\x1b[38;", b"\x1b[48;", b"\x1b[31", b"\x1b[90", b";38;2", b";48;2"):
        assert colour not in terminal.output


@pytest.mark.parametrize(
    ("end", "code"),
    [("q", 0), ("TERM", 143), ("HUP", 129), ("INT", 130), ("closed", 129)],
)
def test_in_the_middle_of_a_run_it_ends_as_told_and_the_run_is_not_touched(
    hosts: Path, tmp_path: Path, end: str, code: int
) -> None:
    directory = made_up.write_run(tmp_path / "console" / "runs", story.numbered(story.waiting()), owned=True)
    before = directory.events_path.read_bytes()
    with on_terminal(["-m", "console", "--hosts", str(hosts)], tmp_path) as terminal:
        terminal.read_until(b"> running")
        if end == "q":
            os.write(terminal.descriptor, b"q")
            terminal.read_until(b"goes on by itself")
            assert terminal.process.poll() is None
            os.write(terminal.descriptor, b"y")
        elif end == "closed":
            os.close(terminal.descriptor)
            terminal.descriptor = os.open(os.devnull, os.O_RDONLY)
        else:
            terminal.process.send_signal(getattr(signal, f"SIG{end}"))
        assert (terminal.process.wait(30) if end == "closed" else terminal.ended()) == code
    if end != "closed":
        assert BACK in terminal.output
    assert directory.owned
    assert directory.events_path.read_bytes() == before
    directory.release()
