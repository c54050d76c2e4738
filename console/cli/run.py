"""`console run`: what may be said to it; what carries a runbook out is loaded when the way to its targets has begun."""

from __future__ import annotations

import argparse
import asyncio
import importlib

from console.cli import ask_sudo, consent, note, run_ahead, runbooks
from console.cli.output import Output


def add(parser: argparse.ArgumentParser) -> None:
    runbooks.add_binding(parser)
    parser.add_argument("--plan", metavar="FILE", help="carry out a plan saved with 'console plan --out'; used once")
    parser.add_argument("--override", default="", metavar="REASON", help="change outside the policy's windows, and why")
    parser.add_argument("--continue", dest="continued", default="", metavar="ID", help="go on with an experiment")
    consent.add(parser)
    add_words(parser)


def add_words(parser: argparse.ArgumentParser) -> None:
    """What may be said to every run: run, resume, rollback."""
    ask_sudo.add(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask (a protected host needs --reason too)")
    parser.add_argument("--json", action="store_true", help="events as JSON lines on stdout")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; kept in the record")
    parser.add_argument("--ticket", default="", metavar="ID", help="kept in the record")
    note.add(parser)
    parser.add_argument(
        "--on-abort",
        choices=["auto", "leave", "rollback"],
        default="auto",
        help="what a stop does when nobody can be asked; auto: put back what no process runs yet, leave the rest",
    )
    parser.add_argument("--no-commit", action="store_true", help="keep the record, do not commit it")


def run(arguments: argparse.Namespace, output: Output) -> int:
    with asyncio.Runner() as loop:
        ways = loop.run(run_ahead.begin(arguments, output))
        try:
            code: int = importlib.import_module("console.cli.carry_out").run(arguments, output, ways, loop)
        finally:
            if ways is not None:
                loop.run(ways.aclose())
        return code
