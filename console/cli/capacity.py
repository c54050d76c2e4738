"""`console capacity TARGET`: will a context fit, and what would make it fit. Reads only."""

from __future__ import annotations

import argparse
import asyncio
import os

from console.cli import runbooks
from console.cli.inventory import inventory
from console.cli.output import Output
from console.engines.registry import engine_named
from console.planning import policy
from console.planning.preview import Looking
from console.remote.ssh import Connections
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.views.capacity import capacity_text


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", nargs="?", metavar="TARGET", help="host/service, or host; may be left out when there is one"
    )
    parser.add_argument(
        "--context", metavar="N", help="judge this window, as the engine would be told it: 200000, 200k"
    )
    parser.add_argument(
        "--set",
        dest="assignments",
        action="append",
        default=[],
        metavar="SETTING=VALUE",
        help="judge with this setting, e.g. mem_fraction=0.92",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace, output: Output) -> int:
    from console.planning.bind import bind
    from console.planning.capacity import reported

    hosts = inventory(arguments)
    targets = bind(hosts, [arguments.target] if arguments.target else [], (), None)
    policy.keys(targets, os.environ)
    settings = runbooks.assignments(arguments.assignments)
    if arguments.context is not None:
        settings = {"context_length": arguments.context} | settings
    for target in targets:
        engine = engine_named(target.service.engine)
        facts = asyncio.run(_look(target, output))
        report = reported(facts, engine, settings)
        if arguments.json:
            output.json(report.model_dump(mode="json"))
        else:
            output.data(capacity_text(report))
    return 0


async def _look(target: Target, output: Output) -> Facts:
    connections = Connections(os.environ)
    try:
        return await Looking(connections, output.redactor, os.environ).facts(target)
    finally:
        await connections.aclose()
