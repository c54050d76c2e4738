"""`console run`: connects to the targets, and reads them, while what carries a runbook out is still being loaded."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli import ask_sudo, consent, note, runbooks
from console.cli.output import Output

if TYPE_CHECKING:
    from console.remote.session import Reader
    from console.remote.ssh import Connections
    from console.schema.facts import Facts
    from console.schema.hosts import Policy, Target


# After how long a thread that computes lets another one run; Python's own 5 ms make a login of 140 ms one of 250.
QUICK_TURNS_S = 1e-4


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

    Loading takes half a second of this machine; logging in and reading the targets as long of them. They are read where
    nothing but a mistake in the runbook's steps could still refuse the run; nothing changes there before it has begun.
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
        hosts = inventory(arguments)
        targets = bind(hosts, arguments.targets, (), arguments.limit)
        places = [each for target in targets for each in (target, *target.nodes)]
        reads = _may_read(arguments, hosts.policy, targets)
        keys = {each.name: api_key(each.service, os.environ, output.redactor) for each in places}
    except ConsoleError:
        return None
    ways = connecting.connections(arguments, output)
    for each in places:
        shared_link(each, ways, SystemClock(speed=each.host.speed)).begin()
    if not reads:
        await _load("console.cli.carry_out")
        return ways
    await _load("console.remote.ahead", "console.facts.look")
    from console.facts.look import look
    from console.remote import ahead

    loaded = asyncio.Event()

    async def read(reader: Reader) -> Facts:
        said = await look(reader)
        await loaded.wait()
        from console.engines.registry import engine_named
        from console.facts.collect import of_output

        return await of_output(reader, engine_named(reader.target.service.engine), said)

    for each in places:
        clock = SystemClock(speed=each.host.speed)
        ahead.begin(each, ways, read, redactor=output.redactor, clock=clock, key=keys[each.name])
    await _load("console.facts.collect", "console.engines.registry")
    loaded.set()
    await _load("console.cli.carry_out")
    return ways


def _may_read(arguments: argparse.Namespace, policy: Policy, targets: Sequence[Target]) -> bool:
    """Whether the run is sure to look at its targets, as far as that can be told without loading what judges a runbook.

    No host is asked before what a policy, a protected host or a missing `--yes` refuses; an experiment looks by itself.
    """
    if policy != type(policy)() or any(target.protected for target in targets):
        return False
    import tomllib

    try:
        runbook = tomllib.loads(Path(arguments.runbook or "").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return "experiment" not in runbook and (arguments.yes or runbook.get("unattended") == "proceed")


async def _load(*modules: str) -> None:
    """Import in a thread, while this one talks with hosts: they have its answers at once."""

    def load() -> None:
        for module in modules:
            importlib.import_module(module)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(QUICK_TURNS_S)
    try:
        await asyncio.to_thread(load)
    finally:
        sys.setswitchinterval(usual)
