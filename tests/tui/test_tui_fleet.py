"""The fleet: state by word and glyph, the level that differs, and nothing old shown as new."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from textual.color import Color

from console.clock import SystemClock
from console.errors import UnreachableError
from console.schema.facts import GuardState
from console.schema.hosts import load_inventory
from console.tui import target_values, targets
from console.tui.fleet import ROWS_S, FleetScreen
from console.tui.frame import IN_LIGHT
from console.tui.run import RunScreen
from console.tui.runbooks import RunbooksScreen
from console.tui.runs import RunsScreen
from console.tui.session import Seen, Session
from console.views.levels import PLACES
from tests.tui import made_up
from tests.tui.conftest import Opens, Starts, choose_extend_context, settle, watch
from tests.views import story

TARGET = made_up.inventory().targets()[0]


def cells(seen: Seen, now: float) -> dict[str, str]:
    return targets.fleet_row(TARGET, seen, now, {}, lambda one, facts: target_values.looked(one, facts, {}).cells).cells


def test_levels_that_agree_stand_side_by_side() -> None:
    shown = cells(Seen(facts=made_up.facts(), at=100.0), 108.0)
    assert [shown[name] for name in ("", "TARGET", "STATE", "AGE")] == ["ok", "node7/chat", "ready", "5s"]
    assert [shown[place.upper()] for place in PLACES] == ["32768"] * 4
    assert (shown["POOL"], shown["REQ"]) == ("300,000", "2+0")


def test_the_first_level_that_differs_is_marked() -> None:
    shown = cells(Seen(facts=made_up.facts(running="16384"), at=100.0), 100.0)
    assert [shown[place.upper()] for place in PLACES] == ["32768", "32768", "!16384", "16384"]


@pytest.mark.parametrize("style", [style for style in targets.STYLES.values() if style != "dim"])
def test_on_a_light_ground_every_state_can_be_read(style: str) -> None:
    ink = Color.parse(IN_LIGHT[style].removeprefix("bold "))
    assert contrast(ink, Color.parse("#cecece")) >= 4.5


def contrast(one: Color, other: Color) -> float:
    """The ratio of their relative luminances (WCAG 2.1)."""

    def luminance(colour: Color) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.normalized]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_a_guard_on_the_host_is_told_with_when_it_looks() -> None:
    read = made_up.facts(guard=GuardState(run="01K2ABCDEFGHJKMNPQRSTVWXYZ", active=True, fires_in_s=840.0))
    assert cells(Seen(facts=read, at=100.0), 100.0)["NOTE"] == "guard 14m"


def test_what_cannot_be_read_now_is_never_shown_as_it_was() -> None:
    seen = Seen(facts=made_up.facts(), at=100.0, error=UnreachableError("no route", where="node7"), next_at=180.0)
    shown = cells(seen, 172.0)
    assert (shown[""], shown["STATE"], shown["AGE"]) == ("??", "unreachable", "72s")
    assert {shown[column.name] for column in targets.COLUMNS[3:-1] if column.name != "NOTE"} == {"--"}
    text = target_values.detail(TARGET, seen, 172.0, 78)
    assert text.startswith("node7: no route")
    assert "next look in 8.0s" in text
    assert "before that, 72s ago:" in text


def test_an_old_look_is_not_ok_any_more() -> None:
    shown = cells(Seen(facts=made_up.facts(), at=100.0), 101.0 + targets.STALE_S)
    assert (shown[""], shown["STATE"], shown["SERVING"]) == ("??", "stale", "--")


@pytest.mark.parametrize(
    ("active", "glyph", "word"),
    [("failed", "!!", "FAILED"), ("activating", "..", "activating"), ("inactive", "--", "inactive")],
)
def test_a_units_state_is_a_glyph_and_a_word(active: str, glyph: str, word: str) -> None:
    assert target_values.state(made_up.facts(active=active)) == (glyph, word)


def test_a_unit_that_runs_and_does_not_answer_is_not_ok() -> None:
    assert target_values.state(made_up.facts(serving=None)) == ("..", "no answer")


@pytest.mark.parametrize("size", [(40, 15), (80, 24), (120, 36)])
async def test_the_fleet_is_readable(open_app: Opens, size: tuple[int, int]) -> None:
    app = open_app(made_up.inventory(hosts=("node7", "node8")))
    async with app.run_test(size=size) as pilot:
        lines = (await settle(app, pilot)).split("\n")
    assert lines[0].startswith(" [RO] [1")
    assert lines[1].startswith(" Fleet 2 targets: 2 ok")
    head = lines[2].split()
    assert [head[0], head[1], head[-1]] == ["TARGET", "STATE", "AGE"]
    assert "SERVING" in head
    assert [line.split()[:3] for line in lines[3:5]] == [["ok", f"{name}/chat", "ready"] for name in ("node7", "node8")]
    assert "quit" in lines[-1]
    assert max(map(len, lines)) <= size[0]


async def test_what_is_wrong_stands_first_and_does_not_hide_the_others(
    open_app: Opens, looks: made_up.FakeLooks
) -> None:
    looks.known["node8/chat"] = UnreachableError("no route", where="node8")
    looks.known["node9/chat"] = made_up.facts("node9/chat", active="failed")
    app = open_app(made_up.inventory(hosts=("node7", "node8", "node9")))
    async with app.run_test(size=(80, 24)) as pilot:
        lines = (await settle(app, pilot)).split("\n")
    assert [line.split()[:2] for line in lines[3:6]] == [
        ["!!", "node9/chat"],
        ["??", "node8/chat"],
        ["ok", "node7/chat"],
    ]


async def test_u_looks_again_with_the_inventory_as_it_is_now(
    open_app: Opens, looks: made_up.FakeLooks, tmp_path: Path
) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text(HOSTS.format(name="node7"))
    app = open_app(load_inventory(path))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        assert looks.looked == ["node7/chat"]
        path.write_text(HOSTS.format(name="node7") + HOSTS.format(name="node8").removeprefix("schema = 1\n"))
        await pilot.press("u")
        shown = await settle(app, pilot)
        assert sorted(looks.looked) == ["node7/chat", "node7/chat", "node8/chat"]
        assert "node8/chat" in shown
        path.write_text("schema = 1\nhost = 1\n")
        await pilot.press("u")
        shown = await settle(app, pilot)
    assert "node8/chat" in shown
    assert "host" in app.session.messages[-1].text


HOSTS = """\
schema = 1
[hosts.{name}]
[hosts.{name}.services.chat]
unit = "sglang-chat.service"
engine = "sglang"
url = "http://127.0.0.1:30000"
"""


async def test_with_an_open_run_it_starts_with_the_list(open_app: Opens) -> None:
    app = open_app()
    made_up.write_run(app.session.base, story.numbered(story.waiting()))
    async with app.run_test(size=(80, 24)) as pilot:
        shown = await watch(app, pilot, "OPEN node7/chat")
        assert isinstance(app.screen, RunsScreen)
        assert "next: console recover" in shown
        await pilot.press("enter")
        assert isinstance(app.screen, RunScreen)
        await pilot.press("escape")
        assert isinstance(app.screen, RunsScreen)
        await pilot.press("1")
        assert isinstance(app.screen, FleetScreen)


async def test_with_a_run_that_goes_on_it_starts_on_it(open_app: Opens) -> None:
    app = open_app()
    directory = made_up.write_run(app.session.base, story.numbered(story.waiting()), owned=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await watch(app, pilot, "> running")
        assert isinstance(app.screen, RunScreen)
    directory.release()


async def test_without_an_open_run_it_starts_with_the_fleet(open_app: Opens) -> None:
    app = open_app()
    made_up.write_run(app.session.base, story.verified())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        assert isinstance(app.screen, FleetScreen)
        await pilot.press("2")
        assert "verified" in await settle(app, pilot)


async def test_the_filter_hides_rows_and_says_so(open_app: Opens) -> None:
    app = open_app(made_up.inventory(hosts=("node7", "node8", "gpu1")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await pilot.press("slash", *"node !node8")
        await pilot.pause()
        shown = made_up.screen_text(app)
        assert "1 of 3" in shown
        assert "gpu1/chat" not in shown.split("\n", 3)[3].split("─")[0]
        await pilot.press("enter", "r")
        assert isinstance(app.screen, RunbooksScreen)
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert "of 3" not in made_up.screen_text(app)


async def test_the_cursor_stays_on_its_target_when_rows_move(open_app: Opens, looks: made_up.FakeLooks) -> None:
    app = open_app(made_up.inventory(hosts=("node7", "node8")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        assert isinstance(app.screen, FleetScreen)
        assert app.screen.chosen == "node7/chat"
        looks.known["node8/chat"] = UnreachableError("no route", where="node8")
        await pilot.press("u")
        lines = (await settle(app, pilot)).split("\n")
        assert lines[3].startswith("?? node8/chat")
        assert app.screen.chosen == "node7/chat"


async def test_the_details_scroll_by_keys_where_they_do_not_fit(open_app: Opens) -> None:
    app = open_app()
    async with app.run_test(size=(80, 24)) as pilot:
        before = await settle(app, pilot)
        await pilot.press("tab", "G")
        await pilot.pause()
        assert made_up.screen_text(app) != before
        assert "next: console plan RUNBOOK" in made_up.screen_text(app)


async def test_marked_targets_are_planned_together_and_typed_as_a_number(open_app: Opens, starts: Starts) -> None:
    app = open_app(made_up.inventory(hosts=("node7", "node8", "node9")))
    app.session.unlock()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await pilot.press("space", "j", "space")
        await choose_extend_context(app, pilot)
        await pilot.press("enter")
        await app.workers.wait_for_complete()
        await pilot.press("r")
        shown = await watch(app, pilot, "Type 2 hosts to carry it out")
        assert "node8/chat" in shown
        while not getattr(app.screen, "armed", True):
            await pilot.pause(0.05)
        await pilot.press(*"2 hosts", "enter")
        await pilot.pause()
    assert [plan.target.name for plan in starts.wishes[0].plans] == ["node7/chat", "node8/chat"]


async def test_a_list_of_runs_slower_than_its_interval_is_let_end(
    open_app: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, ended, go = 0, 0, threading.Event()

    def slow(_session: Session) -> tuple[()]:
        nonlocal began, ended
        began += 1
        go.wait(20)
        ended += 1
        return ()

    app = open_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await app.workers.wait_for_complete()
        monkeypatch.setattr(Session, "runs", slow)
        app._read_runs()
        while not began:
            await pilot.pause(0.02)
        app._read_runs()
        app._read_runs()
        go.set()
        await app.workers.wait_for_complete()  # raises where one was cancelled
    assert began == ended


class Passing(SystemClock):
    """A clock on which each look at it takes a third of what rows may take at once."""

    at = 1000.0

    def monotonic(self) -> float:
        self.at += ROWS_S / 3
        return self.at


async def test_hundreds_that_answer_at_once_are_shown_some_at_a_time(open_app: Opens) -> None:
    names = [f"node{number}" for number in range(45)]
    app = open_app(made_up.inventory(hosts=names))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        screen = app.screen
        assert isinstance(screen, FleetScreen)
        gone = Seen(error=UnreachableError("no route", where="node"), next_at=app.session.clock.monotonic() + 900)
        app.session.seen.update(dict.fromkeys(app.session.targets, gone))

        def unreachable() -> int:
            return sum(row.cells["STATE"] == "unreachable" for row in screen.rows())

        app.session.clock = Passing()
        app.session.touch()
        shown = [unreachable() for _ in range(len(names))]
        assert 0 < shown[0] < shown[1] < len(names)
        assert shown[-1] == len(names)
