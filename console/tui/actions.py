"""Every key of the terminal UI, once: bindings, key line and help are all made from this table.

A letter means one thing on a screen. What changes a host has no Ctrl key and a command that does the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.binding import Binding, BindingType

EVERYWHERE = ("fleet", "runbooks", "variables", "plan", "run", "runs")


@dataclass(frozen=True)
class Action:
    """`id` names the method `action_ID` of the screens; the first of `keys` is the one that is shown.

    `cli` is the command that does the same without this UI; `mutates`: a host may change because of it.
    """

    id: str
    screens: tuple[str, ...]
    keys: tuple[str, ...]
    title: str
    help: str
    cli: str = ""
    mutates: bool = False


ACTIONS: tuple[Action, ...] = (
    Action(
        "open", ("fleet",), ("enter",), "runbook", "choose a runbook for this target", "console plan RUNBOOK TARGET"
    ),
    Action("refresh", ("fleet",), ("r",), "read again", "read every target again", "console facts TARGET"),
    Action("runs", ("fleet", "run"), ("l",), "runs", "the runs of this machine", "console runs"),
    Action("choose", ("runbooks",), ("enter",), "choose", "set its variables, then plan it", "console lint RUNBOOK"),
    Action("plan", ("variables",), ("enter",), "plan", "read the target and plan; touches nothing", "console plan"),
    Action(
        "carry_out",
        ("plan",),
        ("c",),
        "carry out…",
        "asks for the host's name first; nothing happens before that",
        "console run RUNBOOK TARGET",
        mutates=True,
    ),
    Action("refresh", ("plan",), ("r",), "plan again", "read the target and plan again", "console plan RUNBOOK TARGET"),
    Action(
        "accept",
        ("plan",),
        ("a",),
        "accept pending",
        "let the restart also activate what others left on disk; shown in the plan as ALSO LIVE",
        "console run --accept-pending",
    ),
    Action(
        "confirm",
        ("confirm",),
        ("enter",),
        "start",
        "start the run, when the name of the host is typed in full",
        "console run RUNBOOK TARGET",
        mutates=True,
    ),
    Action(
        "stop",
        ("run",),
        ("x",),
        "stop…",
        "choose how to stop it; nothing is sent before that",
        "console run --on-abort leave|rollback, and Ctrl-C in its terminal",
    ),
    Action(
        "leave",
        ("stop",),
        ("l",),
        "leave",
        "stop, and leave the host as it is now",
        "console run --on-abort leave, and Ctrl-C in its terminal",
        mutates=True,
    ),
    Action(
        "roll_back",
        ("stop",),
        ("b",),
        "roll back",
        "stop, and put the old state back",
        "console rollback RUN",
        mutates=True,
    ),
    Action("open", ("runs",), ("enter",), "open", "look at this run, or follow it", "console runs --json"),
    Action(
        "filter", ("runs",), ("o",), "all or open", "all runs, or those that wait for somebody", "console runs --open"
    ),
    Action("refresh", ("runs",), ("r",), "read again", "read the run directories again", "console runs"),
    Action("go", ("leave",), ("y",), "leave", "leave the console; the run goes on by itself"),
    Action("help", EVERYWHERE, ("question_mark", "f1"), "help", "these keys"),
    Action("back", ("runbooks", "variables", "plan", "runs"), ("escape",), "back", "back; nothing is stopped or lost"),
    Action("back", ("run",), ("escape",), "back", "back to the fleet; the run goes on by itself"),
    Action("back", ("confirm",), ("escape",), "cancel", "do not start it"),
    Action("back", ("stop",), ("escape", "w"), "keep waiting", "nothing is sent to the run"),
    Action("back", ("leave", "help"), ("escape",), "stay", "back to where you were"),
    Action("quit", ("fleet", "runbooks", "plan", "run", "runs"), ("q",), "quit", "leave; a run goes on by itself"),
)

_SHOWN = {"question_mark": "?", "escape": "Esc", "enter": "Enter", "f1": "F1"}
# What is typed on these screens goes into a field, so only the keys that no field takes are shown.
_FIELDS = ("variables", "confirm")


def actions_of(screen: str) -> list[Action]:
    """The actions of a screen, in the order they are shown."""
    return [action for action in ACTIONS if screen in action.screens]


def bindings(screen: str) -> list[BindingType]:
    """What Textual is told; a screen has a method `action_ID` for each."""
    return [Binding(key, action.id, action.title, show=False) for action in actions_of(screen) for key in action.keys]


def key_line(screen: str, without: Iterable[str] = ()) -> str:
    """`Enter runbook  r read again  …  ? help  q quit`; `without` names actions that are off now."""
    off = set(without)
    return "  ".join(
        f"{shown_key(action, screen)} {action.title}" for action in actions_of(screen) if action.id not in off
    )


def shown_key(action: Action, screen: str = "") -> str:
    """The key as it is printed on a keyboard; on screens with fields one that is not a letter."""
    keys = [_SHOWN.get(key, key) for key in action.keys]
    if screen in _FIELDS and len(keys[0]) == 1:
        return keys[-1]
    return keys[0]
