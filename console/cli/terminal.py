"""`console` without a command: the terminal UI, where there is a terminal."""

from __future__ import annotations

import argparse
import os
import sys

from console.cli import ask_sudo, connecting
from console.cli.output import Output
from console.errors import UsageError


def add(parser: argparse.ArgumentParser) -> None:
    """What only the terminal UI understands; before or without a command."""
    group = parser.add_argument_group("terminal UI")
    group.add_argument("--ascii", action="store_true", default=None, help="draw with ASCII only")
    group.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    ask_sudo.add(group)
    group.add_argument("--theme", choices=["dark", "light", "terminal"], help="terminal: its own 16 colours")


def run(arguments: argparse.Namespace, output: Output) -> int:
    needs_terminal()
    from console.cli.inventory_path import inventory_path
    from console.cli.main import VERBS
    from console.remote.answers import Answers
    from console.tui.opening import Before, marked, raw_table, run_app

    path = inventory_path(arguments)
    sudo = arguments.ask_sudo or any("sudo" in asks for asks in marked(raw_table(path)).values())
    before = Before(Answers(sudo=ask_sudo.asked(output) if sudo else ""), connecting.person(output), output.note)
    chosen = {"ascii": arguments.ascii, "mouse": False if arguments.no_mouse else None, "theme": arguments.theme}
    verbs = {verb: text for verb, (_, text) in VERBS.items()}
    return run_app(path, output.redactor, verbs=verbs, chosen=chosen, before=before)


def needs_terminal() -> None:
    """Textual would draw into a pipe, too. Raises UsageError where there is no terminal, or one that cannot move."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()) or os.environ.get("TERM") == "dumb":
        raise UsageError("the terminal UI needs a terminal", hint="console --help names the commands that do not")
