"""`console run` while it is still being loaded: it connects to its targets, and reads them."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli.output import Output

if TYPE_CHECKING:
    from console.remote.session import Reader
    from console.remote.ssh import Connections
    from console.schema.facts import Facts
    from console.schema.hosts import Policy, Target

# After how long a thread that computes lets another one run; Python's own 5 ms make a login of 140 ms one of 250.
QUICK_TURNS_S = 1e-4


async def begin(arguments: argparse.Namespace, output: Output) -> Connections | None:
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
    import tomllib

    from console.schema.hosts import Policy

    if policy != Policy() or any(target.protected for target in targets):
        return False
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
