"""The terminal UI's budgets: first table, key to paint, idle, and a flood of journal lines.

    python -m bench.tui [SECONDS]

First table is a ratio to a minimal Textual app on the same terminal, so that a busy machine counts for both.
"""

from __future__ import annotations

import asyncio
import os
import pty
import resource
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual import events
from textual._compositor import CompositorUpdate
from textual.screen import Screen
from textual.widgets import DataTable

from console.clock import SystemClock
from console.schema.events import LogLine
from console.secrets import Redactor
from console.tui.app import ConsoleApp
from console.tui.garbage import little_by_little
from console.tui.run import RunScreen
from console.tui.session import Session, World
from console.tui.stop import StopScreen
from tests.tui import made_up
from tests.tui.conftest import Starts
from tests.views import story

TRIES = 5
FLOOD_PER_S = 5000
MILLION = 1_000_000
MINIMAL = """\
from textual.app import App
from textual.widgets import DataTable, Footer, Header
class Minimal(App):
    def compose(self):
        yield Header(); yield DataTable(); yield Footer()
    def on_mount(self):
        table = self.query_one(DataTable)
        table.add_columns("a", "b", "c", "d", "e", "f", "g", "h")
        for n in range(20):
            table.add_row(f"node{n}/chat", *"bcdefgh")
Minimal().run()
"""


def hosts_file(folder: Path, count: int) -> Path:
    lines = ["schema = 1"]
    for number in range(count):
        lines += [f"[hosts.node{number}]", 'address = "127.0.0.1"', "port = 9", f"[hosts.node{number}.services.chat]"]
        lines += ['unit = "sglang-chat.service"', 'engine = "sglang"', 'url = "http://127.0.0.1:30000"']
    path = folder / "hosts.toml"
    path.write_text("\n".join(lines))
    return path


def first_row_s(words: list[str], folder: Path) -> float:
    """Seconds from the start of a program on a terminal of its own until the first row stands there."""
    ours, theirs = pty.openpty()
    environment = dict(os.environ) | {"TERM": "xterm-256color", "XDG_STATE_HOME": str(folder), "COLUMNS": "120"}
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    said = b""
    try:
        while b"node0/chat" not in said and time.monotonic() - began < 60:
            if select.select([ours], [], [], 0.1)[0]:
                said += os.read(ours, 65536)
        return time.monotonic() - began
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def opened(folder: Path, count: int) -> ConsoleApp:
    """The program as it is when its world has been read; hosts that answer at once stand for it."""
    fleet = made_up.inventory(hosts=[f"node{number}" for number in range(count)])
    environment = dict(os.environ) | {"XDG_STATE_HOME": str(folder)}
    session = Session(environment, Redactor(), SystemClock()).know(World(fleet, made_up.FakeLooks(), Starts()))
    little_by_little()
    return ConsoleApp(session)


class Paints:
    """Keys as the driver hands them over, and the frames that follow; a pilot waits until nothing is left to do."""

    def __init__(self, app: ConsoleApp) -> None:
        assert app._driver is not None
        self.app = app
        self.driver = app._driver
        self.painted = asyncio.Event()
        self._display = app._display
        app._display = self.display  # type: ignore[method-assign]

    def display(self, screen: Screen[Any], renderable: Any) -> None:
        """A headless app leaves out what a terminal would be sent: it is made here, so that it counts."""
        if isinstance(renderable, CompositorUpdate):
            renderable.render_segments(self.app.console)
        self._display(screen, renderable)
        self.painted.set()

    async def after(self, key: str, done: Callable[[], bool]) -> float:
        """Milliseconds from the key to the first frame once `done` holds."""
        began = time.perf_counter()
        self.driver.process_message(events.Key(key, key))
        while True:
            self.painted.clear()
            await asyncio.wait_for(self.painted.wait(), 20)
            if done():
                return (time.perf_counter() - began) * 1000


async def keys_with_200(folder: Path) -> tuple[list[float], float]:
    """Milliseconds from a key to the painted screen with 200 targets refreshing, and the CPU share at rest."""
    app = opened(folder, 200)
    app.session.preferences = replace(app.session.preferences, poll_s=2.0)
    took = []
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause(2.0)
        table, paints = app.screen.query_one(DataTable), Paints(app)
        for _ in range(60):
            row = table.cursor_row
            took.append(await paints.after("j", lambda row=row: table.cursor_row != row))  # type: ignore[misc]
            await asyncio.sleep(0.03)
        app.session.preferences = replace(app.session.preferences, poll_s=10.0)
        busy, began = time.process_time(), time.monotonic()
        await asyncio.sleep(5.0)
        idle = (time.process_time() - busy) / (time.monotonic() - began)
    return took, idle


async def flood(folder: Path, seconds: float) -> tuple[list[float], float, float]:
    """Loop lags in ms under 5,000 lines a second, ms until `x` is answered in it, and MB a million lines add."""
    app = opened(folder, 1)
    directory = made_up.write_run(app.session.base, story.numbered(story.waiting()), owned=True)
    lags: list[float] = []
    async with app.run_test(size=(120, 36)) as pilot:
        screen = RunScreen(app.session, run_id=made_up.RUN)
        await app.push_screen(screen)
        await pilot.pause(1.0)
        line = LogLine(target=story.TARGET, kind="weights", text="INFO  " + "x" * 130)

        async def pour() -> None:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                for _ in range(FLOOD_PER_S // 50):
                    screen.take(line)
                await asyncio.sleep(0.02)

        async def probe() -> None:
            while True:
                began = time.perf_counter()
                await asyncio.sleep(0.02)
                lags.append((time.perf_counter() - began - 0.02) * 1000)

        probing = asyncio.create_task(probe())
        pouring = asyncio.create_task(pour())
        await asyncio.sleep(seconds / 2)
        answered = await Paints(app).after("x", lambda: isinstance(app.screen, StopScreen))
        await pouring
        probing.cancel()
        await pilot.press("escape")
        await pilot.pause(0.5)
        before = rss_mb()
        for count in range(0, MILLION, 1000):
            screen.pending.extend(["INFO  " + "x" * 130] * 1000)
            if count % 10_000 == 0:
                await asyncio.sleep(0)
                screen._flush()
        await pilot.pause(0.5)
        grown = rss_mb() - before
    directory.release()
    return lags, answered, grown


def rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024 / 1024


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hosts = hosts_file(folder, 20)
        ours, minimal = [], []
        for _ in range(TRIES):
            minimal.append(first_row_s(["-c", MINIMAL], folder))
            ours.append(first_row_s(["-m", "console", "--hosts", str(hosts)], folder))
        mine, least = statistics.median(ours), statistics.median(minimal)
        print(f"first table, 20 targets  {mine:.2f} s, minimal app {least:.2f} s: {mine / least:.2f}x (budget 1.5x)")
        took, idle = asyncio.run(keys_with_200(folder / "keys"))
        print(f"key to paint, 200 targets p50 {percentile(took, 0.5):.0f} ms, p90 {percentile(took, 0.9):.0f} ms (30)")
        print(f"at rest, 200 targets     {idle * 100:.1f} % CPU (5)")
        lags, answered, grown = asyncio.run(flood(folder / "flood", seconds))
        print(f"5,000 lines/s  lag p99 {percentile(lags, 0.99):.0f} ms (50), x after {answered:.0f} ms (100)")
        print(f"a million lines          {grown:+.0f} MB (20)")


if __name__ == "__main__":
    main()
