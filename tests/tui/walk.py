"""Every screen of the terminal UI, one after the other, over values that a test chooses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from textual.pilot import Pilot
from textual.screen import Screen

from console.results.queries.list import HistoryRow
from console.schema.events import FindingMade, QuestionAsked
from console.tui.again import AgainScreen
from console.tui.answer import AnswerScreen
from console.tui.app import ConsoleApp
from console.tui.confirm import ConfirmScreen, question_of
from console.tui.help import HelpScreen
from console.tui.history import HistoryScreen
from console.tui.leave import LeaveScreen
from console.tui.measure import ChooseScreen
from console.tui.palette import PaletteScreen
from console.tui.plan import PlanScreen
from console.tui.run import RunScreen
from console.tui.runbooks import RunbooksScreen
from console.tui.series import SeriesScreen
from console.tui.stop import StopScreen
from console.tui.target import TABS, TargetScreen
from console.tui.variables import VariablesScreen
from tests.tui import made_up
from tests.tui.conftest import settle

CONFIRM = QuestionAsked(target="node7/chat", question="confirm", text="Restart it?", choices=("yes", "no"))
VALUES = {"to": 200000, "expect": 32768, "mem_fraction": "", "kv_cache_dtype": "", "require": "serve"}


async def every_screen(
    app: ConsoleApp, pilot: Pilot[None], record: HistoryRow | None = None, question: QuestionAsked | None = None
) -> AsyncIterator[tuple[str, str]]:
    """(name, text) of each screen. The app must have a target and the run `made_up.RUN`."""
    session = app.session
    target = session.inventory.targets()[0]
    yield "fleet", await settle(app, pilot)
    for tab in TABS:
        async for name, text in _over(app, pilot, TargetScreen(session, target, tab), f"target-{tab.lower()}"):
            yield name, text
    runbook = made_up.extend_context().model_copy(update={"path": "runbooks/extend_context.toml"})
    values = {name: VALUES.get(name, variable.default) for name, variable in runbook.vars.items()}
    plan = PlanScreen(session, [target], runbook, values, {})  # type: ignore[arg-type]
    for screen, name in (
        (RunbooksScreen(session, [target]), "runbooks"),
        (VariablesScreen(session, [target], runbook), "variables"),
        (plan, "plan"),
    ):
        async for shown in _over(app, pilot, screen, name):
            yield shown
    for modal, name in (
        (ConfirmScreen(session, question_of(plan.plans, "console run")), "confirm"),
        (HelpScreen(session, "run", plan.situation()), "help"),
        (PaletteScreen(session, "run", plan.situation()), "palette"),
        (ChooseScreen(session, target), "choose"),
        (LeaveScreen(session, [made_up.RUN]), "leave"),
    ):
        async for shown in _over(app, pilot, modal, name):
            yield shown
    run = RunScreen(session, run_id=made_up.RUN)
    async for shown in _over(app, pilot, run, "run"):
        yield shown
    for later, name in (
        (StopScreen(session, run.state, None), "stop"),
        (AnswerScreen(session, question or CONFIRM), "answer"),
        (AgainScreen(session, "rollback", made_up.RUN), "again"),
        (SeriesScreen(session, made_up.RUN), "series"),
    ):
        async for shown in _over(app, pilot, later, name):
            yield shown
    for key, name in (("2", "runs"), ("3", "measure"), ("4", "history")):
        await pilot.press(key)
        await at_rest(app, pilot)
        if isinstance(app.screen, HistoryScreen) and record is not None:
            app.screen.records = {"one": record}
            app.screen.show_rows()
        yield name, await at_rest(app, pilot)
    await pilot.press("E")
    await pilot.pause()
    yield "messages", made_up.screen_text(app)


async def at_rest(app: ConsoleApp, pilot: Pilot[None]) -> str:
    """The screen once it has not changed for a while: what is read in the background has come."""
    shown, same = "", 0
    for _ in range(80):
        await pilot.pause(0.08)
        now = made_up.screen_text(app)
        same = same + 1 if now == shown else 0
        shown = now
        if same >= 3:
            break
    return shown


async def _over(app: ConsoleApp, pilot: Pilot[None], screen: Screen[Any], name: str) -> AsyncIterator[tuple[str, str]]:
    await app.push_screen(screen)
    yield name, await at_rest(app, pilot)
    if app.screen is screen:  # the question how to stop goes by itself when the run has ended
        app.pop_screen()
    await pilot.pause()


def finding(text_class: str = "analysis") -> FindingMade:
    return FindingMade(
        name="decode_rate", value=139.6, unit="tok/s", low=138.9, high=140.3, n=20, text_class=text_class,
        context_tokens=1663, method="two_point",
    )  # fmt: skip
