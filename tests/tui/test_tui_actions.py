"""One table of actions: no key means two things, nothing that changes a host is on a Ctrl key or without a command."""

from __future__ import annotations

import inspect
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen

from console.cli.main import VERBS
from console.tui import (
    again,
    answer,
    confirm,
    copy,
    fleet,
    history,
    leave,
    measure,
    messages,
    palette,
    plan,
    run,
    runbooks,
    runs,
    series,
    stop,
    target,
    textview,
    tuning,
    variables,
)
from console.tui import help as help_screen
from console.tui.actions import ACTIONS, MODES, Situation, actions_of
from console.tui.help import WIDTH, help_lines
from console.tui.keys import MOVES, UNSAFE, clashes, key_line, markdown
from console.views.cells import cells

SCREENS: dict[str, type[Screen[Any]]] = {
    "fleet": fleet.FleetScreen,
    "target": target.TargetScreen,
    "runbooks": runbooks.RunbooksScreen,
    "variables": variables.VariablesScreen,
    "plan": plan.PlanScreen,
    "confirm": confirm.ConfirmScreen,
    "run": run.RunScreen,
    "again": again.AgainScreen,
    "answer": answer.AnswerScreen,
    "stop": stop.StopScreen,
    "runs": runs.RunsScreen,
    "measure": measure.MeasureScreen,
    "choose": measure.ChooseScreen,
    "sends": measure.SendsScreen,
    "pick": tuning.PickScreen,
    "tries": tuning.TriesScreen,
    "series": series.SeriesScreen,
    "history": history.HistoryScreen,
    "text": textview.TextScreen,
    "copy": copy.CopyScreen,
    "palette": palette.PaletteScreen,
    "command": palette.CommandScreen,
    "messages": messages.MessagesScreen,
    "leave": leave.LeaveScreen,
    "help": help_screen.HelpScreen,
}
# Stopping is always on: it must not wait for anything. Every other mutating action asks for writing first.
STOPS = {"leave", "roll_back"}


def test_every_screen_of_the_table_is_there_and_the_other_way_round() -> None:
    assert {screen for action in ACTIONS for screen in action.screens} == set(SCREENS)


@pytest.mark.parametrize("screen", SCREENS)
def test_no_key_means_two_things_on_a_screen(screen: str) -> None:
    used = Counter(key for action in actions_of(screen) for key in action.keys)
    assert [key for key, times in used.items() if times > 1] == []
    assert set(used) & (MOVES | UNSAFE) == set()


@pytest.mark.parametrize("screen", SCREENS)
def test_every_action_has_a_method_on_its_screen(screen: str) -> None:
    missing = [action.id for action in actions_of(screen) if not hasattr(SCREENS[screen], f"action_{action.id}")]
    assert missing == []


def test_what_changes_a_host_has_a_command_no_ctrl_key_and_is_off_while_only_reading() -> None:
    mutating = [action for action in ACTIONS if action.mutates]
    assert {action.id for action in mutating} == {
        "carry_out",
        "confirm",
        "leave",
        "roll_back",
        "go_on",
        "put_back",
        "start",
        "take_over",
        "send_answer",
        "try_out",
    }
    everything = Situation(
        target="node7/chat", run="RUN", record="RUN", alive=False, open=True, changed=True, plan="ready", foreign="RUN"
    )
    for action in mutating:
        assert action.cli.startswith("console ")
        assert action.cli.split()[1] in VERBS
        assert not any(key.startswith("ctrl") for key in action.keys)
        if action.id not in STOPS:
            assert action.off(everything) == "read-only: press W to write", action.id


def test_what_changes_a_host_leads_to_a_typed_confirmation() -> None:
    for screen, name in ((plan.PlanScreen, "carry_out"), (again.AgainScreen, "start")):
        assert "ConfirmScreen" in inspect.getsource(getattr(screen, f"action_{name}"))
    for one in (runs.RunsScreen, run.RunScreen):
        for name in ("go_on", "put_back"):
            assert "AgainScreen" in inspect.getsource(getattr(one, f"action_{name}"))


def test_there_is_no_one_key_accept() -> None:
    accepting = next(action for action in ACTIONS if action.id == "accept")
    assert not accepting.mutates  # it plans again; what it includes is read in the plan and then typed for
    assert "PlanScreen" not in inspect.getsource(plan.PlanScreen.action_accept)
    assert "start" not in inspect.getsource(plan.PlanScreen.action_accept)


def test_the_letters_mean_what_they_always_mean() -> None:
    means = {key: {action.id for action in ACTIONS if key in action.keys} for key in ("x", "plus", "greater_than_sign")}
    assert means == {"x": {"stop"}, "plus": {"zoom"}, "greater_than_sign": {"more_time"}}
    assert {action.id for action in ACTIONS if "R" in action.keys} == {"review"}
    assert {action.id for action in ACTIONS if "escape" in action.keys} == {"back"}
    assert [f"mode_{mode}" for mode in MODES] == [
        next(action.id for action in ACTIONS if digit in action.keys) for digit in "1234"
    ]


def test_every_command_of_the_table_is_one_of_the_command_line() -> None:
    for action in ACTIONS:
        if action.cli.startswith("console ") and len(action.cli.split()) > 1:
            assert action.cli.split()[1] in VERBS, action


@pytest.mark.parametrize("screen", SCREENS)
def test_keys_and_help_fit_eighty_columns(screen: str) -> None:
    assert cells(key_line(screen)) <= 78
    assert cells(key_line(screen, Situation(), 38)) <= 38 or not set(key_line(screen)) & {"?"}
    assert max(map(cells, help_lines(screen, WIDTH, Situation()))) <= WIDTH


def test_what_is_off_stands_in_brackets_and_the_help_says_why() -> None:
    line = key_line("plan", Situation(plan="ready"))
    assert "(r run…)" in line
    assert "off now: read-only: press W to write" in "\n".join(help_lines("plan", WIDTH, Situation(plan="ready")))
    assert "(r run…)" not in key_line("plan", Situation(plan="ready", write=True))


REASONS = [
    ("fleet", "runbook", Situation(), "no target is chosen"),
    ("fleet", "measure", Situation(target="a/b"), "read-only: press W to write"),
    ("plan", "carry_out", Situation(plan="reading"), "not made yet"),
    ("plan", "carry_out", Situation(plan="refused"), "refused"),
    ("plan", "carry_out", Situation(plan="pending"), "others left changes"),
    ("plan", "accept", Situation(plan="ready"), "nothing of others is pending"),
    ("run", "stop", Situation(), "nothing to stop"),
    ("run", "answer", Situation(alive=True), "asks nothing"),
    ("run", "more_time", Situation(alive=True), "nothing to extend"),
    ("run", "go_on", Situation(run="R", alive=True), "still goes on"),
    ("run", "go_on", Situation(run="R"), "has ended"),
    ("run", "put_back", Situation(run="R"), "changed nothing"),
    ("history", "compare", Situation(marked=1), "mark two"),
    ("history", "open", Situation(), "no record"),
    ("series", "baseline", Situation(), "no earlier measurement"),
    ("series", "table", Situation(), "nothing is measured"),
]


@pytest.mark.parametrize(("screen", "name", "now", "reason"), REASONS)
def test_an_action_that_is_off_says_why(screen: str, name: str, now: Situation, reason: str) -> None:
    action = next(action for action in actions_of(screen) if action.id == name)
    assert reason in action.off(now)


def test_own_keys_are_refused_where_they_would_mean_two_things() -> None:
    assert clashes({}) == []
    assert clashes({"stop": ("X",)}) == []
    assert "would mean" in clashes({"stop": ("q",)})[0]
    assert "no action is called" in clashes({"stopp": ("X",)})[0]
    assert "moves the cursor" in clashes({"stop": ("j",)})[0]
    assert any("no Ctrl key" in said for said in clashes({"carry_out": ("ctrl+r",)}))
    assert any("does not reach" in said for said in clashes({"help": ("ctrl+h",)}))


def test_the_documentation_has_every_action() -> None:
    page = (Path(__file__).parents[2] / "docs" / "terminal-ui.md").read_text("utf-8")
    assert page.partition("## Every action\n\n")[2].strip() == markdown()
