"""One table of keys: no key means two things, nothing that changes a host is on a Ctrl key or without a command."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from textual.screen import Screen

from console.cli.main import VERBS
from console.tui import confirm, fleet, leave, plan, run, runbooks, runs, stop, variables
from console.tui import help as help_screen
from console.tui.actions import ACTIONS, actions_of, key_line
from console.tui.help import WIDTH, help_lines
from console.views.cells import cells

SCREENS: dict[str, type[Screen[Any]]] = {
    "fleet": fleet.FleetScreen,
    "runbooks": runbooks.RunbooksScreen,
    "variables": variables.VariablesScreen,
    "plan": plan.PlanScreen,
    "confirm": confirm.ConfirmScreen,
    "run": run.RunScreen,
    "stop": stop.StopScreen,
    "runs": runs.RunsScreen,
    "leave": leave.LeaveScreen,
    "help": help_screen.HelpScreen,
}


def test_every_screen_of_the_table_is_there_and_the_other_way_round() -> None:
    assert {screen for action in ACTIONS for screen in action.screens} == set(SCREENS)


@pytest.mark.parametrize("screen", SCREENS)
def test_no_key_means_two_things_on_a_screen(screen: str) -> None:
    used = Counter(key for action in actions_of(screen) for key in action.keys)
    assert [key for key, times in used.items() if times > 1] == []


@pytest.mark.parametrize("screen", SCREENS)
def test_every_action_has_a_method_on_its_screen(screen: str) -> None:
    missing = [action.id for action in actions_of(screen) if not hasattr(SCREENS[screen], f"action_{action.id}")]
    assert missing == []


def test_what_changes_a_host_has_a_command_and_no_ctrl_key() -> None:
    mutating = [action for action in ACTIONS if action.mutates]
    assert {action.id for action in mutating} == {"carry_out", "confirm", "leave", "roll_back"}
    for action in mutating:
        assert action.cli.startswith("console ")
        assert action.cli.split()[1] in VERBS
        assert not any(key.startswith("ctrl") for key in action.keys)


def test_every_command_of_the_table_is_one_of_the_command_line() -> None:
    for action in ACTIONS:
        if action.cli:
            assert action.cli.split()[1] in VERBS, action


@pytest.mark.parametrize("screen", SCREENS)
def test_keys_and_help_fit_eighty_columns(screen: str) -> None:
    assert cells(key_line(screen)) <= 78
    assert max(map(cells, help_lines(screen))) <= WIDTH


def test_escape_never_stops_a_run() -> None:
    for action in ACTIONS:
        if "escape" in action.keys:
            assert action.id == "back"
            assert not action.mutates
