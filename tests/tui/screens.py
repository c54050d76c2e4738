"""The screens as a person sees them, at a fixed moment: for the goldens, and for the picture in the README.

python -m tests.tui.screens      writes tests/cases/tui and docs/terminal-ui.svg anew
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.screen import Screen

from console.errors import UnreachableError
from console.results.queries.list import HistoryRow
from console.runs.directory import RunDirectory
from console.schema.cells import Cell
from console.schema.events import CellMeasured, FindingMade
from console.schema.facts import Process
from console.secrets import Redactor
from console.tui.app import ConsoleApp
from console.tui.fleet import FleetScreen
from console.tui.history import HistoryScreen
from console.tui.preferences import Preferences
from console.tui.run import RunScreen
from console.tui.series import SeriesScreen
from console.tui.session import Session, World
from console.tui.stop import StopScreen
from console.views.plain import to_ascii
from tests.tui import made_up
from tests.tui.conftest import Starts, settle, watch
from tests.views import story

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases" / "tui"
PICTURE = ROOT / "docs" / "terminal-ui.svg"
SIZES = ((120, 36), (80, 24), (40, 15))
PICTURE_SIZE = (110, 30)
ENDED = "01K2ENDED00000000000000000"
MEASURED = "01K2MEASVRED00000000000000"


class Still:
    """A clock that stands, so that every age on the screen is the same each time."""

    def now(self) -> datetime:
        return datetime.fromisoformat("2026-03-04T03:05:02.000Z")

    def monotonic(self) -> float:
        return 500.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(frozen=True)
class Shot:
    """One screen: what stands there, and which of it in a colour of its own."""

    name: str
    text: str
    colours: str


def fleet() -> tuple[list[str], dict[str, Any]]:
    """Four hosts: one well, one edited and not restarted, one failed, one that does not answer."""
    edited = made_up.facts("node8/chat", running="16384")
    failed = made_up.facts("node5/chat", active="failed", serving=None, process=Process())
    gone = UnreachableError("no answer within 10 s", where="node6", hint="ssh node6")
    return ["node5", "node6", "node7", "node8"], {"node8/chat": edited, "node5/chat": failed, "node6/chat": gone}


@asynccontextmanager
async def opened(
    base: Path, size: tuple[int, int], environment: Mapping[str, str], preferences: Preferences | None = None
) -> AsyncIterator[tuple[ConsoleApp, Pilot[None], RunDirectory]]:
    """The app at the fleet, with a run that waits, one that was rolled back and one that measured."""
    hosts, known = fleet()
    given = dict(environment) | {"XDG_STATE_HOME": str(base)}
    session = Session(given, Redactor(), Still(), preferences=preferences or Preferences())
    session.know(
        World(made_up.inventory(Path("/home/ops/hosts.toml"), hosts=hosts), made_up.FakeLooks(known), Starts())
    )
    app = ConsoleApp(session)
    made_up.write_run(session.base, story.rolled_back(), run=ENDED)
    made_up.write_run(session.base, measured(), run=MEASURED)
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        directory = made_up.write_run(session.base, story.numbered(story.waiting()), owned=True)
        session.runs()  # else it depends on the second whether it is counted in the bar
        fleet_screen = app.screen
        assert isinstance(fleet_screen, FleetScreen)
        fleet_screen.refresh_frame()
        fleet_screen.show_rows()
        await pilot.pause()
        yield app, pilot, directory
        directory.release()


def measured() -> list[Any]:
    """A sweep: four points and their line."""
    points = [(13, 26.9), (1663, 59.1), (3333, 94.0), (5553, 137.7)]
    cells = [
        CellMeasured(
            target=story.TARGET,
            step="measure.sweep",
            cell=Cell(
                name=f"analysis at {context}",
                step="sweep",
                text_class="analysis",
                asked_tokens=context,
                context_tokens=context,
                at_tokens=float(context),
                step_ms=step_ms,
                step_low=step_ms - 0.7,
                step_high=step_ms + 0.7,
                method="server",
                pairs=20,
            ),
        )
        for context, step_ms in points
    ]
    fit = FindingMade(
        target=story.TARGET,
        name="step_time_fit",
        value="",
        method="wls",
        n=4,
        context_tokens="13..5553",
        figures={"intercept_ms": 26.3, "slope_ms_per_token": 0.0201},
    )
    begun = [event for event in story.verified() if event.type in ("run.started", "plan.made", "target.started")]
    ended = [event for event in story.verified() if event.type in ("target.finished", "run.finished")]
    told = [(float(number), event) for number, event in enumerate([*begun, *cells, fit, *ended])]
    return story.numbered(told, MEASURED)


async def shots(app: ConsoleApp, pilot: Pilot[None]) -> AsyncIterator[Shot]:
    """Each screen that matters at night."""
    session = app.session
    yield shot("fleet", app)
    run = RunScreen(session, run_id=made_up.RUN)
    going_on = await over(app, pilot, run, "run", "3/18")
    if app.size.height > SIZES[-1][1]:  # in the smallest, which steps are seen depends on when it is drawn first
        yield going_on
    yield await over(app, pilot, StopScreen(session, run.state, None), "stop", "Press l")
    app.pop_screen()
    app.pop_screen()
    yield await over(app, pilot, RunScreen(session, run_id=ENDED), "end", "next:")
    app.pop_screen()
    yield await over(app, pilot, SeriesScreen(session, MEASURED), "series", "5553")
    app.pop_screen()
    await pilot.press("2")
    await watch(app, pilot, "all 3")
    yield shot("runs", app)
    await pilot.press("4")
    await watch(app, pilot, "no results repository")
    screen = app.screen
    assert isinstance(screen, HistoryScreen)
    screen.records = {row.run: row for row in records()}
    screen.show_rows()
    await pilot.pause()
    yield shot("history", app)
    await pilot.press("question_mark")
    await watch(app, pilot, "Keys of this screen")
    yield shot("help", app)
    await pilot.press("escape", "1")


def records() -> list[HistoryRow]:
    rows = []
    for number, (outcome, subject) in enumerate(
        (
            ("verified", "node7/chat: context_length 16384 -> 65536, verified"),
            ("rolled-back", "node7/chat: context_length 16384 -> 65536, rolled back"),
            ("measured", "node7/chat: sweep 139.6 tok/s at 13 tokens"),
        )
    ):
        rows.append(
            HistoryRow(
                sha=f"{number}" * 40,
                at=f"2026-03-0{3 - number}T03:00:00Z",
                run=f"01K2RECORD{number:016d}",
                target=story.TARGET,
                runbook="extend-context",
                outcome=outcome,
                operator="ops@desk",
                subject=subject,
                changes=("context_length 16384 -> 65536",) if outcome != "measured" else (),
            )
        )
    return rows


async def over(app: ConsoleApp, pilot: Pilot[None], screen: Screen[Any], name: str, until: str) -> Shot:
    await app.push_screen(screen)
    await watch(app, pilot, until)
    now, before = shot(name, app), None
    while now != before:  # it is drawn ten times a second, and scrolled after that
        await pilot.pause(0.25)
        now, before = shot(name, app), now
    return now


def shot(name: str, app: ConsoleApp) -> Shot:
    strips = app.screen._compositor.render_strips(app.size)
    text = "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)
    found: list[tuple[int, str, str]] = []
    for number, strip in enumerate(strips):
        for segment in strip:
            colour = segment.style.color if segment.style else None
            if segment.text.strip() and colour is not None:
                found.append((number, colour.name, segment.text.strip()))
    usual = {name for name, _ in Counter(colour for _, colour, _ in found).most_common(1)}
    said = [f"{number:>3} {colour} {words}" for number, colour, words in found if colour not in usual]
    return Shot(name, text, "\n".join(said))


def case(name: str, size: tuple[int, int]) -> Path:
    return CASES / f"{name}-{size[0]}x{size[1]}.txt"


# What ASCII borders have for the lines of the others; where a thumb ends within a line of the scroll bar is not shown.
PLAIN = str.maketrans("─━│╭╮╰╯▁▂▃▄▅▆▇█", "--|++++        ")


def in_ascii(name: str, size: tuple[int, int]) -> str:
    """What a screen shows with --ascii: the same in other characters; but a chart, which is drawn from others."""
    if name == "series":
        return case("series-ascii", size).read_text("utf-8")
    plain = to_ascii(case(name, size).read_text("utf-8").translate(PLAIN))
    return "\n".join(line.rstrip() for line in plain.split("\n"))


def colours(name: str) -> Path:
    return CASES / f"{name}-colours.txt"


async def picture(base: Path) -> str:
    """The fleet, as an SVG."""
    async with opened(base, PICTURE_SIZE, {}) as (app, pilot, _):
        await pilot.press("down", "down", "down")
        await pilot.pause()
        return app.export_screenshot(title="console")


async def write_all() -> None:
    CASES.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        with tempfile.TemporaryDirectory() as name:
            async with opened(Path(name), size, {}) as (app, pilot, _):
                async for one in shots(app, pilot):
                    case(one.name, size).write_text(one.text + "\n", "utf-8")
                    if size == SIZES[0]:
                        colours(one.name).write_text(one.colours + "\n", "utf-8")
        with tempfile.TemporaryDirectory() as name:
            async with opened(Path(name), size, {}, Preferences(ascii=True)) as (app, pilot, _):
                async for one in shots(app, pilot):
                    if one.name == "series":
                        case("series-ascii", size).write_text(one.text + "\n", "utf-8")
    with tempfile.TemporaryDirectory() as name:
        PICTURE.write_text(await picture(Path(name)), "utf-8")


if __name__ == "__main__":
    os.environ.pop("NO_COLOR", None)
    asyncio.run(write_all())
