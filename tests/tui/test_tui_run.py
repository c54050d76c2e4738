"""A run on the screen: its steps, its end, and that nothing but a chosen stop is ever sent to it."""

from __future__ import annotations

import asyncio

import pytest
from textual.widgets import Log

from console.runs.control import Abort, Answer, Extend, Reply
from console.runs.directory import RunDirectory
from console.runs.socket import ControlSocket
from console.runs.state import fold
from console.schema.events import LogLine
from console.tui import quiet
from console.tui.app import ConsoleApp
from console.tui.leave import LeaveScreen
from console.tui.run import RunScreen
from console.tui.runs import RunsScreen
from console.tui.scroll import LineLog
from console.tui.steps import step_lines, stopping, word_of
from console.tui.stop import StopScreen, prices, stop_lines
from tests.tui import made_up
from tests.tui.conftest import Opens, watch
from tests.views import story


def open_run(app: ConsoleApp) -> RunScreen:
    screen = RunScreen(app.session, run_id=made_up.RUN)
    app.push_screen(screen)
    return screen


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_load_that_goes_on(open_app: Opens, size: tuple[int, int]) -> None:
    app = open_app()
    directory = made_up.write_run(app.session.base, story.numbered(story.waiting()), owned=True)
    async with app.run_test(size=size) as pilot:
        open_run(app)
        shown = await watch(app, pilot, "> running")
        lines = shown.split("\n")
        assert lines[1].rstrip().endswith("RUNNING")
        assert any(line.startswith(" * changed  [6/8] restart sglang-chat.service") for line in lines)
        assert any(line.startswith(" - skipped  [4/8]") for line in lines)
        assert any("[7/8] wait until the new process serves" in line and "> running" in line for line in lines)
        assert any("graphs [##" in line and "3/18, eta 40s" in line for line in lines)
        assert any(line.startswith(" .          [8/8] prove that the setting serves") for line in lines)
        assert "stop…" in lines[-1]
        assert max(map(len, lines)) <= size[0]
    directory.release()


async def test_the_log_follows_what_the_engine_says(open_app: Opens) -> None:
    app = open_app()
    events = story.numbered(story.waiting())
    directory = made_up.write_run(app.session.base, events, owned=True)
    async with app.run_test(size=(80, 24)) as pilot:
        open_run(app)
        await watch(app, pilot, "> running")
        said = [
            LogLine(target=story.TARGET, kind="weights", text=f"shard {n} \x1b[31mloaded[/red]") for n in range(1, 60)
        ]
        made_up.append(
            directory, [e.model_copy(update={"seq": 100 + n, "ts": events[-1].ts}) for n, e in enumerate(said)]
        )
        shown = await watch(app, pilot, "shard 59")
        assert r"shard 59 \x1b[31mloaded[/red]" in shown
    directory.release()


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_end_names_outcome_exit_record_commit_and_what_to_type(
    open_app: Opens, size: tuple[int, int]
) -> None:
    app = open_app()
    made_up.write_run(app.session.base, story.verified())
    async with app.run_test(size=size) as pilot:
        open_run(app)
        shown = await watch(app, pilot, "VERIFIED EXIT 0")
        for words in (
            "verified",
            "/home/ops/findings/node7/chat/2026/record.json",
            "d" * 40,
            "console facts node7/chat",
        ):
            assert words in shown
        assert "(x stop…)" in shown.split("\n")[-1]
        await pilot.press("x")
        assert isinstance(app.screen, RunScreen)


async def test_a_run_whose_process_is_gone_says_so(open_app: Opens) -> None:
    app = open_app()
    made_up.write_run(app.session.base, story.numbered(story.waiting()))
    async with app.run_test(size=(80, 24)) as pilot:
        open_run(app)
        shown = await watch(app, pilot, "ITS PROCESS IS GONE")
        assert "console recover" in shown
        assert "restarted, not proven" in shown


class Run:
    """A run's own end of the socket."""

    def __init__(self) -> None:
        self.heard: list[Abort | Answer | Extend] = []

    def __call__(self, message: Abort | Answer | Extend) -> Reply:
        self.heard.append(message)
        return Reply(ok=True)


@pytest.mark.parametrize(("key", "choice"), [("l", "leave"), ("b", "rollback"), ("w", None), ("escape", None)])
async def test_x_sends_the_chosen_stop_and_nothing_else(open_app: Opens, key: str, choice: str | None) -> None:
    app = open_app()
    directory = made_up.write_run(app.session.base, story.numbered(story.waiting()), owned=True)
    run = Run()
    socket = ControlSocket(made_up.RUN, app.session.environment, run)
    await socket.start()
    async with app.run_test(size=(80, 24)) as pilot:
        open_run(app)
        await watch(app, pilot, "> running")
        await pilot.press("x")
        stop = app.screen
        assert isinstance(stop, StopScreen)
        assert run.heard == []
        while not stop.armed:
            await pilot.pause(0.05)
        await pilot.press(key)
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        if choice:
            await watch(app, pilot, f"stop sent: {choice}")
        await pilot.pause(0.2)
    assert run.heard == ([Abort(choice=choice, by="tui")] if choice else [])
    await socket.close()
    directory.release()


async def test_a_stop_typed_ahead_is_not_taken(open_app: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet, "QUIET_S", 60.0)
    app = open_app()
    directory = made_up.write_run(app.session.base, story.numbered(story.waiting()), owned=True)
    async with app.run_test(size=(80, 24)) as pilot:
        open_run(app)
        await watch(app, pilot, "> running")
        await pilot.press("x", "b", "l")
        assert isinstance(app.screen, StopScreen)
    directory.release()


async def test_a_run_that_cannot_be_reached_is_said(open_app: Opens) -> None:
    app = open_app()
    directory = made_up.write_run(app.session.base, story.numbered(story.waiting()), owned=True)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = open_run(app)
        await watch(app, pilot, "> running")
        await screen._tell("leave")
        await watch(app, pilot, "no control socket")
    directory.release()


async def test_leaving_with_a_run_alive_says_that_it_goes_on(open_app: Opens) -> None:
    app = open_app()
    directory = made_up.write_run(app.session.base, story.numbered(story.waiting()), owned=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await watch(app, pilot, "> running")
        await pilot.press("escape")
        assert isinstance(app.screen, RunsScreen)
        await pilot.press("q")
        assert isinstance(app.screen, LeaveScreen)
        shown = made_up.screen_text(app)
        assert f"run {made_up.RUN} goes on by itself" in shown
        assert "Come back to it with: console" in shown
        await pilot.press("escape")
        assert isinstance(app.screen, RunsScreen)
        await pilot.press("q", "y")
        await pilot.pause()
    assert app.return_code == 0
    assert directory.owned
    directory.release()


def test_steps_carry_a_glyph_and_a_word_in_any_width() -> None:
    state = fold(story.rolled_back())
    for width in (40, 77, 117):
        lines, _ = step_lines(state, width)
        assert max(map(len, lines)) <= width
        assert any(line.startswith("! failed   [7/8]") for line in lines)
        assert any(line.startswith("+ ok       [undo]") for line in lines)
    assert word_of(state, alive=False) == "ROLLED-BACK  EXIT 4"


def test_a_stop_is_on_its_way_until_something_new_begins() -> None:
    state = fold(story.stopped_twice())
    assert stopping(state)
    assert word_of(state, alive=True) == "STOPPING"
    assert word_of(state, alive=False) == "ITS PROCESS IS GONE"


def test_prices_follow_how_far_the_run_has_come() -> None:
    before = fold(story.numbered(story.up_to_restart()[:10])).targets[story.TARGET]
    assert "exit 130" in prices(before, None)["leave"]
    waiting = fold(story.numbered(story.waiting())).targets[story.TARGET]
    assert "exit 3" in prices(waiting, None)["leave"]
    assert "about 40s to go" in prices(waiting, None)["wait"]
    proven = fold(story.verified()[:-5]).targets[story.TARGET]
    assert "proven and stays" in prices(proven, None)["leave"]
    undoing = fold(story.rolled_back()[:-7]).targets[story.TARGET]
    assert "being put back" in prices(undoing, None)["leave"]


def test_the_stop_question_has_all_three_choices_with_their_keys() -> None:
    said = stop_lines(fold(story.numbered(story.waiting())), None)
    text = "\n".join(said)
    assert "stops now" in text
    for choice in (" l  leave", " b  roll back", " w  wait"):
        assert choice in text
    assert max(map(len, said)) <= 74


async def test_following_ends_without_touching_the_directory(open_app: Opens) -> None:
    app = open_app()
    directory = made_up.write_run(app.session.base, story.verified())
    before = {path.name: path.read_bytes() for path in directory.path.iterdir()}
    async with app.run_test(size=(80, 24)) as pilot:
        open_run(app)
        await watch(app, pilot, "VERIFIED")
    await asyncio.sleep(0)
    assert {path.name: path.read_bytes() for path in RunDirectory(directory.path).path.iterdir()} == before


async def test_a_line_is_drawn_as_textual_would(open_app: Opens) -> None:
    app = open_app()
    async with app.run_test(size=(40, 15)) as pilot:
        log = LineLog(id="log")
        await app.screen.mount(log)
        log.write_lines(["short", "tab\tafter", "wide \u6a21\u578b", "x" * 200, "markup [/oops]"])
        await pilot.pause()
        drawn = [log.render_line(y) for y in range(6)]
        top = log.scroll_offset.y
        plain = [Log._render_line(log, top + y, 0, log.size.width) for y in range(6)]
        assert [strip.text for strip in drawn] == [strip.text for strip in plain]
        assert [[segment.style for segment in strip] for strip in drawn] == [
            [segment.style for segment in strip] for strip in plain
        ]


async def test_lines_that_come_under_a_question_are_there_after_it(open_app: Opens) -> None:
    app = open_app()
    directory = made_up.write_run(app.session.base, story.numbered(story.waiting()), owned=True)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = open_run(app)
        await watch(app, pilot, "> running")
        await pilot.press("x")
        await pilot.pause()
        assert isinstance(app.screen, StopScreen)
        screen.take(LogLine(target=story.TARGET, kind="weights", text="meanwhile"))
        screen._flush()
        assert not any("meanwhile" in line for line in screen.query_one("#log", LineLog).lines)
        await pilot.press("escape")
        await watch(app, pilot, "meanwhile")
    directory.release()
