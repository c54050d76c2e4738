"""`console run`: connects to the targets while what carries a runbook out is still being loaded."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
from typing import TYPE_CHECKING

from console.cli import ask_sudo, consent, note, runbooks
from console.cli.output import Output

if TYPE_CHECKING:
    from console.remote.ssh import Connections


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
        ways = loop.run(_ahead(arguments, output))
        try:
            code: int = importlib.import_module("console.cli.carry_out").run(arguments, output, ways, loop)
        finally:
            if ways is not None:
                loop.run(ways.aclose())
        return code


async def _ahead(arguments: argparse.Namespace, output: Output) -> Connections | None:
    """Connections that have begun, where the command line alone says to what, and nobody can be asked anything yet.

    Loading takes half a second of this machine, logging in as long of the hosts. Nothing is sent before the runbook is
    checked and a run has begun; what is wrong with the command line is for that to say.
    """
    if arguments.plan or output.is_terminal or arguments.answers_fd is not None:
        return None
    from console.cli import connecting
    from console.cli.inventory import inventory
    from console.clock import SystemClock
    from console.errors import ConsoleError
    from console.planning.bind import bind
    from console.remote.http import api_key
    from console.remote.link import shared_link

    try:
        targets = bind(inventory(arguments), arguments.targets, (), arguments.limit)
        for target in targets:
            api_key(target.service, os.environ, output.redactor)
    except ConsoleError:
        return None
    ways = connecting.connections(arguments, output)
    for target in targets:
        for each in (target, *target.nodes):
            shared_link(each, ways, SystemClock(speed=each.host.speed)).begin()
    await asyncio.to_thread(importlib.import_module, "console.cli.carry_out")
    return ways
