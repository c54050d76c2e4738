"""From the fleet to the start of a run by keys, and everything that must not start one."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from console.tui import quiet
from console.tui.app import ConsoleApp
from console.tui.confirm import ConfirmScreen, question_lines
from console.tui.plan import PlanScreen
from console.tui.runbooks import RunbooksScreen, found_runbooks
from console.tui.variables import VariablesScreen
from tests.tui import made_up
from tests.tui.conftest import Opens, Starts, choose_extend_context, settle


async def to_plan(app: ConsoleApp, pilot: Pilot[None]) -> None:
    app.session.unlock()
    await settle(app, pilot)
    await choose_extend_context(app, pilot)
    assert isinstance(app.screen, VariablesScreen)
    await pilot.press("enter")
    await app.workers.wait_for_complete()
    await pilot.pause()
    assert isinstance(app.screen, PlanScreen)


async def armed(app: ConsoleApp, pilot: Pilot[None]) -> ConfirmScreen:
    """The question, once it listens."""
    question = app.screen
    assert isinstance(question, ConfirmScreen)
    for _ in range(200):
        if question.armed:
            await pilot.pause()
            return question
        await pilot.pause(0.05)
    raise AssertionError("the question never listens")


async def test_by_keys_from_the_fleet_to_the_start(open_app: Opens, starts: Starts) -> None:
    app = open_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await to_plan(app, pilot)
        shown = made_up.screen_text(app)
        assert "--context-length 32768 -> 200000" in shown
        assert "without this UI: console run" in shown
        await pilot.press("r")
        await armed(app, pilot)
        assert "Type node7 to carry it out" in made_up.screen_text(app)
        await pilot.press(*"node7", "enter")
        await pilot.pause()
    wish = starts.wishes[0]
    assert wish.plans[0].settings[0].sentence == "context_length 32768 -> 200000"
    assert (wish.reason, wish.accept_pending) == ("", False)


async def test_what_is_typed_ahead_starts_nothing(
    open_app: Opens, starts: Starts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiet, "QUIET_S", 60.0)
    app = open_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await to_plan(app, pilot)
        await pilot.press("r", *"node7", "enter")
        question = app.screen
        assert isinstance(question, ConfirmScreen)
        assert question.query_one("#host", Input).value == ""
        await pilot.press("escape")
        assert isinstance(app.screen, PlanScreen)
    assert starts.wishes == []


@pytest.mark.parametrize("typed", ["", "yes", "y", "node", "node77", "chat", "NODE7"])
async def test_anything_but_the_name_starts_nothing(open_app: Opens, starts: Starts, typed: str) -> None:
    app = open_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await to_plan(app, pilot)
        await pilot.press("r")
        await armed(app, pilot)
        await pilot.press(*typed, "enter", "enter")
        assert isinstance(app.screen, ConfirmScreen)
        if typed:
            assert "nothing was started" in made_up.screen_text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, PlanScreen)
    assert starts.wishes == []


async def test_a_protected_host_wants_a_reason_too(open_app: Opens, starts: Starts) -> None:
    app = open_app(made_up.inventory(protected=True))
    async with app.run_test(size=(80, 24)) as pilot:
        await to_plan(app, pilot)
        await pilot.press("r")
        await armed(app, pilot)
        await pilot.press("enter")
        assert "needs a reason" in made_up.screen_text(app)
        await pilot.press(*"INC-7", "enter")
        assert starts.wishes == []
        await pilot.press(*"node7", "enter")
        await pilot.pause()
    assert starts.wishes[0].reason == "INC-7"


async def test_a_refused_plan_cannot_be_carried_out_until_it_is_accepted(
    open_app: Opens, looks: made_up.FakeLooks, starts: Starts
) -> None:
    read = made_up.facts()
    looks.known["node7/chat"] = read.model_copy(
        update={"process": read.process.model_copy(update={"argv": (*read.process.argv, "--enable-metrics")})}
    )
    app = open_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await to_plan(app, pilot)
        shown = made_up.screen_text(app)
        assert "REFUSED: node7/chat: this restart also activates" in shown
        assert "(r run…)" in shown.split("\n")[-1]
        await pilot.press("r")
        assert isinstance(app.screen, PlanScreen)
        await pilot.press("a")
        await app.workers.wait_for_complete()
        await pilot.pause()
        shown = made_up.screen_text(app)
        assert "REFUSED" not in shown
        assert "--accept-pending" in shown
        await pilot.press("r")
        await armed(app, pilot)
        await pilot.press(*"node7", "enter")
        await pilot.pause()
    assert looks.accepted == [False, True]
    assert starts.wishes[0].accept_pending


async def test_a_wrong_variable_is_said_before_any_host_is_asked(open_app: Opens, looks: made_up.FakeLooks) -> None:
    app = open_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await choose_extend_context(app, pilot)
        form = app.screen
        assert isinstance(form, VariablesScreen)
        form.query(Input).first().value = "many"
        await pilot.pause()
        assert "!! to: 'many' is not of type int" in made_up.screen_text(app)
        await pilot.press("enter")
        assert app.screen is form
        form.query(Input).first().value = "131072"
        await pilot.pause()
        assert " to=131072" in made_up.screen_text(app)
        await pilot.press("enter")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "32768 -> 131072" in made_up.screen_text(app)


async def test_escape_leads_back_step_by_step(open_app: Opens) -> None:
    app = open_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await to_plan(app, pilot)
        for expected in (VariablesScreen, RunbooksScreen):
            await pilot.press("escape")
            assert isinstance(app.screen, expected)


def test_a_broken_runbook_is_listed_with_what_is_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "runbooks"
    folder.mkdir()
    (folder / "broken.toml").write_text("schema = 1\nname = 'x'\n[[step]]\nuses = 'unit.sett'\n")
    found = found_runbooks(made_up.inventory(tmp_path / "hosts.toml"))
    broken = next(one for one in found if one.path.name == "broken.toml")
    assert broken.runbook is None
    assert "unit.set" in broken.wrong
    assert any(one.runbook is not None and one.runbook.name == "extend-context" for one in found)


async def test_the_question_says_what_where_and_how_long(looks: made_up.FakeLooks) -> None:
    target = made_up.inventory().targets()[0]
    preview = await looks.preview(made_up.extend_context(), target, {"to": 65536, "expect": 32768, **EMPTY})
    assert preview.plan is not None
    said = "\n".join(question_lines(preview.plan, "console run RUNBOOK node7/chat"))
    for words in ("node7/chat", made_up.UNIT, "32768 -> 65536", "about 50 s", "roll back", "console run RUNBOOK"):
        assert words in said


EMPTY: dict[str, str | int | float] = {
    "mem_fraction": "", "kv_cache_dtype": "", "require": "serve",
    "measure": True, "samples": 5, "sweep_contexts": "1k", "budget": "5m",
}  # fmt: skip


async def test_each_key_before_it_listens_starts_the_wait_again(
    open_app: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiet, "QUIET_S", 60.0)
    app = open_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await to_plan(app, pilot)
        await pilot.press("r")
        question = app.screen
        assert isinstance(question, ConfirmScreen)
        first = question._waiting
        await pilot.press("n")
        assert question._waiting is not first
