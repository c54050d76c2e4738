"""Every action of the help screens, by keys, in tmux, on what `make demo-tui` opens: `python -m tests.tui.demo_walk`.

Each line of `WALK` says which actions it performs; the end fails when an action of the table was left out. An action
that is off on this host is performed by its key, too: then its reason must be shown.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from console.tui.actions import ACTIONS
from tests.tui.tmux import READING_S, Tmux

# What a screen of this size shows decides what is waited for.
COLUMNS, LINES = 120, 36


@dataclass(frozen=True)
class Step:
    """`keys` on `screen`, until the terminal shows `until`, or one of several with | between.

    `typed`: it is read before it is answered.
    """

    screen: str
    does: str
    keys: tuple[str, ...]
    until: str
    typed: bool = False


def step(screen: str, does: str, keys: str, until: str, *, typed: bool = False) -> Step:
    return Step(screen, does, tuple(keys.split(" ")), until, typed)


FLEET = (
    step("fleet", "sort", "S", "by TARGET"),
    step("fleet", "filter", "/ chat Enter", "/chat 1 of 3"),
    step("fleet", "back", "Escape", "Fleet 3 targets"),
    step("fleet", "mark", "Space", "*"),
    step("fleet", "mark", "Space", "Fleet 3 targets"),
    step("fleet", "zoom", "+", "LEDGER"),
    step("fleet", "zoom", "+", "TARGET"),
    step("fleet", "again", "u", "Fleet 3 targets"),
    step("fleet", "take_over", "T", "no run of another machine"),
    step("fleet", "log_in", "L", "no host asked for a password"),
    step("fleet", "handover", "H", "console handover --since 12h"),
    step("text", "again", "u", "handover"),
    step("text", "back", "Escape", "Fleet 3 targets"),
    step("fleet", "drift", "d", "[Drift]"),
    step("target", "next_tab", "Tab", "[History]"),
    step("target", "previous_tab", "BTab", "[Drift]"),
    step("target", "back", "Escape", "Fleet 3 targets"),
    step("fleet", "journal", "l", "[Log]"),
    step("target", "follow", "F", "paused, F follows"),
    step("target", "pager", "e", "(END)"),
    step("target", "", "q", "[Log]"),
    step("target", "back", "Escape", "Fleet 3 targets"),
    step("fleet", "open", "Enter", "[Status]"),
    step("target", "back", "Escape", "Fleet 3 targets"),
    step("fleet", "copy", "y", "Copy to the clipboard"),
    step("copy", "name", "n", "copied.txt"),
    step("fleet", "copy", "y", "Copy to the clipboard"),
    step("copy", "command_text", "c", "console facts lab1/"),
    step("fleet", "copy", "y", "Copy to the clipboard"),
    step("copy", "row_text", "r", "copied.txt"),
    step("fleet", "copy", "y", "Copy to the clipboard"),
    step("copy", "markdown", "m", "| TARGET"),
    step("fleet", "copy_command", "c", "console facts lab1/"),
    step("fleet", "messages", "E", "copied.txt"),
    step("messages", "back", "Escape", "Enter open"),
    step("fleet", "help", "?", "Keys of this screen (fleet)"),
    step("help", "back", "Escape", "Enter open"),
    step("fleet", "palette", "C-p", "what shall be done?"),
    step("palette", "choose_line", "runs Enter", "Runs of this machine"),
    step("runs", "mode_fleet", "1", "Fleet 3 targets"),
    step("fleet", "command", ":", "A command of console"),
    step("command", "choose_line", "facts Space lab1/k26 Enter", "console facts lab1/k26"),
    step("text", "back", "Escape", "Fleet 3 targets"),
    step("fleet", "shell", "!", "read-only: press W"),
    step("fleet", "write", "W", "[WRITE 15m]"),
    step("fleet", "measure", "m", "Nothing is sent before"),
    step("choose", "decode", "d", "COSTS", typed=True),
    step("sends", "back", "Escape", "Enter open"),
    step("fleet", "measure", "m", "Nothing is sent before"),
    step("choose", "sweep", "s", "COSTS", typed=True),
    step("sends", "back", "Escape", "Enter open"),
    step("fleet", "measure", "m", "Nothing is sent before"),
    step("choose", "diagnose", "w", "COSTS", typed=True),
    step("sends", "back", "Escape", "Enter open"),
    step("fleet", "measure", "m", "Nothing is sent before"),
    step("choose", "load", "l", "COSTS", typed=True),
    step("sends", "back", "Escape", "Enter open"),
    step("fleet", "measure", "m", "Nothing is sent before"),
    step("choose", "limit", "b", "COSTS", typed=True),
    step("sends", "back", "Escape", "Enter open"),
    step("fleet", "measure", "m", "Nothing is sent before"),
    step("choose", "profile", "f", "console workload profile"),
    step("text", "back", "Escape", "Enter open"),
    step("fleet", "measure", "m", "Nothing is sent before"),
    step("choose", "replay", "r", "no frozen trace yet"),
    step("fleet", "measure", "m", "Nothing is sent before"),
    step("choose", "experiment", "t", "Try which experiment"),
    step("pick", "pick_line", "Enter", "again and again", typed=True),
    step("tries", "back", "Escape", "Enter open"),
    step("fleet", "measure", "m", "Nothing is sent before"),
    step("choose", "experiment", "t", "Try which experiment"),
    step("pick", "back", "Escape", "Enter open"),
    step("fleet", "filter", "/ k26 Enter", "/k26 1 of 3"),
    step("fleet", "measure", "m", "Nothing is sent before"),
    step("choose", "capacity", "p", "Type lab1/k26", typed=True),
    step("sends", "begin", "lab1/k26 Enter", "EXIT 0"),
)
MAIN_JOB = (
    step("run", "back", "Escape", "Runs of this machine"),
    step("runs", "mode_fleet", "1", "/k26 1 of 3"),
    step("fleet", "runbook", "r", "Enter choose"),
    step("runbooks", "", "Down", "runbooks/extend_context.toml"),
    step("runbooks", "choose", "Enter", "Enter plan"),
    step("variables", "plan", "Tab Tab 0.92 Enter", " ready", typed=True),
    step("plan", "save", "s", "console run --plan"),
    step("plan", "accept", "a", "nothing of others is pending"),
    step("plan", "carry_out", "r", "Type lab1 to carry it out", typed=True),
    step("confirm", "back", "Escape", " ready"),
    step("plan", "carry_out", "r", "Type lab1 to carry it out", typed=True),
    step("confirm", "confirm", "lab1 Enter", "> running  [11/16]"),
    step("run", "stop", "x", "Press l, b or w"),
    step("stop", "leave", "l", "APPLIED-UNVERIFIED EXIT 3"),
    step("run", "review", "R", "Events of"),
    step("text", "back", "Escape", "EXIT 3"),
    step("run", "go_on", "s", "Go on with"),
    step("again", "start", "r", "Type lab1", typed=True),
    step("confirm", "confirm", "lab1 Enter", "> running"),
    step("run", "more_time", ">", "5 min more|it is not waiting"),
    step("run", "answer", "a", "asks nothing now"),
    step("run", "diff", "D", "-> 200000"),
    step("text", "back", "Escape", "RUNNING"),
    step("run", "output", "o", "every line that was said"),
    step("run", "zoom", "+", "RUNNING"),
    step("run", "zoom", "+", "> running"),
    step("run", "stop", "x", "Press l, b or w"),
    step("stop", "back", "w", "> running"),
    step("run", "stop", "x", "Press l, b or w"),
    step("stop", "roll_back", "b", "EXIT"),
    step("run", "back", "Escape", "Runs of this machine"),
    step("runs", "only_open", "o", "those going on or open"),
    step("runs", "only_open", "o", "Runs of this machine: all"),
    step("runs", "recover", "v", "console recover"),
    step("text", "back", "Escape", "Runs of this machine"),
    step("runs", "open", "Enter", "EXIT"),
    step("run", "put_back", "b", "oll back"),
    step("run", "back", "Escape", "EXIT"),
    step("run", "back", "Escape", "Runs of this machine"),
)
LATER = (
    step("runs", "mode_measure", "3", "runs with findings"),
    step("measure", "open", "Enter", "Measure "),
    step("series", "table", "t", "Measure "),
    step("series", "baseline", "B", "Measure "),
    step("series", "back", "Escape", "runs with findings"),
    step("measure", "mode_history", "4", "History:"),
    step("history", "mark", "Space Down Space", "2 marked"),
    step("history", "compare", "=", "console history compare"),
    step("text", "back", "Escape", "History:"),
    step("history", "blame", "b", "console history blame"),
    step("text", "back", "Escape", "History:"),
    step("history", "report", "p", "console history report"),
    step("text", "back", "Escape", "History:"),
    step("history", "show_commit", "v", "Run-Id:"),
    step("text", "back", "Escape", "History:"),
    step("history", "open", "Enter", "console history show"),
    step("text", "back", "Escape", "History:"),
    step("history", "mode_runs", "2", "Runs of this machine"),
    step("runs", "mode_fleet", "1", "/k26 1 of 3"),
    step("fleet", "measure", "m", "Nothing is sent before"),
    step("choose", "decode", "d", "Type lab1/k26", typed=True),
    step("sends", "begin", "lab1/k26 Enter", "RUNNING"),
    step("run", "back", "Escape", "Runs of this machine"),
    step("runs", "quit", "q", "goes on by itself"),
    step("leave", "back", "Escape", "Runs of this machine"),
    step("runs", "quit", "q", "goes on by itself"),
    step("leave", "go", "y", "ended with 0"),
)
WALK = (*FLEET, *MAIN_JOB, *LATER)
# Answered by typing on a screen that a run without a terminal never asks for: tests/tui/test_tui_answer.py has it.
# An experiment takes hours: tests/tui/test_tui_tuning.py starts one that ends at once.
ELSEWHERE = frozenset({"send_answer", "try_out"})


def left_out() -> list[str]:
    """Actions of the table that no step performs."""
    done = {(one.screen, one.does) for one in WALK}
    rows = [action for action in ACTIONS if action.id not in ELSEWHERE]
    return [
        f"{action.id} on {', '.join(action.screens)}"
        for action in rows
        if not any((screen, action.id) in done for screen in action.screens)
    ]


def walked(terminal: Tmux) -> Iterator[Step]:
    for one in WALK:
        for key in one.keys:
            terminal.press(key)
            time.sleep(0.6 if key == "Escape" else 0.15)  # an escape and a letter at once are another key
        terminal.until_any(one.until.split("|"), 120.0)
        if one.typed:
            time.sleep(READING_S)
        yield one


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    missing = left_out()
    if missing:
        say("left out: " + "; ".join(missing))
        return 1
    with tempfile.TemporaryDirectory(prefix="walk-") as name:
        terminal = Tmux(f"demo-walk-{os.getpid()}", Path(name), {"PAGER": "less +G"})
        began = time.monotonic()
        terminal.open_with(["demo", "--tui"], COLUMNS, LINES)
        try:
            terminal.until("!! lab1/coder")
            terminal.until("!32768")
            terminal.until("ok lab1/k26")
            for one in walked(terminal):
                say(f"{time.monotonic() - began:6.1f} s  {one.screen:<10} {one.does:<14} {' '.join(one.keys)}")
        except AssertionError as error:
            say(str(error))
            return 1
        finally:
            terminal.close()
            time.sleep(2.0)
    say(f"every action performed: {len(WALK)} steps")
    return 0


if __name__ == "__main__":
    sys.exit(main())
