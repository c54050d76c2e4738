"""The fleet: state by word and glyph, the level that differs, and nothing old shown as new."""

from __future__ import annotations

import pytest

from console.errors import UnreachableError
from console.tui import targets
from console.tui.fleet import FleetScreen
from console.tui.run import RunScreen
from console.tui.runs import RunsScreen
from console.tui.session import Seen
from tests.tui import made_up
from tests.tui.conftest import Opens
from tests.views import story

TARGET = made_up.inventory().targets()[0]


def test_levels_that_agree_stand_side_by_side() -> None:
    row = targets.row(TARGET, Seen(facts=made_up.facts(), at=100.0), 103.0)
    assert row == ("ok", "node7/chat", "active", "32768", "32768", "32768", "32768", "300,000", "3.0s")


def test_the_first_level_that_differs_is_marked() -> None:
    row = targets.row(TARGET, Seen(facts=made_up.facts(running="16384"), at=100.0), 100.0)
    assert row[3:7] == ("32768", "32768", "!16384", "16384")


def test_what_cannot_be_read_now_is_never_shown_as_it_was() -> None:
    seen = Seen(facts=made_up.facts(), at=100.0, error=UnreachableError("no route", where="node7"))
    row = targets.row(TARGET, seen, 172.0)
    assert row == ("??", "node7/chat", "unreachable", "--", "--", "--", "--", "--", "1m12s")
    text = targets.detail(TARGET, seen, 172.0, 78)
    assert text.startswith("node7: no route")
    assert "before that, 1m12s ago:" in text


def test_an_old_look_is_not_ok_any_more() -> None:
    seen = Seen(facts=made_up.facts(), at=100.0)
    assert targets.row(TARGET, seen, 100.0 + targets.STALE_S + 1)[0] == "??"


@pytest.mark.parametrize(
    ("active", "glyph", "word"),
    [("failed", "!!", "failed"), ("activating", "..", "activating"), ("inactive", "--", "inactive")],
)
def test_a_units_state_is_a_glyph_and_a_word(active: str, glyph: str, word: str) -> None:
    assert targets.state(made_up.facts(active=active)) == (glyph, word)


def test_a_unit_that_runs_and_does_not_answer_is_not_ok() -> None:
    assert targets.state(made_up.facts(serving=None)) == ("..", "no answer")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_fleet_is_readable(open_app: Opens, size: tuple[int, int]) -> None:
    app = open_app(made_up.inventory(hosts=("node7", "node8")))
    async with app.run_test(size=size) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        lines = made_up.screen_text(app).split("\n")
    assert "2 targets: 2 ok; runs: 0 going on, 0 open" in lines[0]
    assert lines[1].split() == ["TARGET", "UNIT", "DISK", "LOADED", "RUNNING", "SERVING", "POOL", "AGE"]
    assert lines[2].split()[:8] == ["ok", "node7/chat", "active", *["32768"] * 4, "300,000"]
    assert lines[3].split()[1] == "node8/chat"
    assert "quit" in lines[-1]
    assert max(map(len, lines)) <= size[0]


async def test_r_reads_every_target_again(open_app: Opens, looks: made_up.FakeLooks) -> None:
    app = open_app(made_up.inventory(hosts=("node7", "node8")))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        assert sorted(looks.looked) == ["node7/chat", "node8/chat"]
        await pilot.press("r")
        await app.workers.wait_for_complete()
        assert len(looks.looked) == 4


async def test_one_target_that_cannot_be_read_does_not_hide_the_others(
    open_app: Opens, looks: made_up.FakeLooks
) -> None:
    looks.known["node7/chat"] = UnreachableError("no route", where="node7")
    app = open_app(made_up.inventory(hosts=("node7", "node8")))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        lines = made_up.screen_text(app).split("\n")
    assert lines[2].startswith("?? node7/chat")
    assert lines[3].startswith("ok node8/chat")


async def test_with_an_open_run_it_starts_there(open_app: Opens) -> None:
    app = open_app()
    made_up.write_run(app.session.base, story.numbered(story.waiting()))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, RunsScreen)
        shown = made_up.screen_text(app)
        assert "OPEN node7/chat" in shown
        assert "next: console recover" in shown
        await pilot.press("enter")
        assert isinstance(app.screen, RunScreen)
        await pilot.press("escape")
        assert isinstance(app.screen, FleetScreen)


async def test_without_an_open_run_it_starts_with_the_fleet(open_app: Opens) -> None:
    app = open_app()
    made_up.write_run(app.session.base, story.verified())
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, FleetScreen)
        await pilot.press("l")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "verified" in made_up.screen_text(app)
