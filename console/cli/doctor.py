"""`console doctor TARGET`: is the unit sane, and would this host start it again? Reads only."""

from __future__ import annotations

import argparse
import asyncio
import os

from console.cli.inventory import inventory
from console.cli.output import Output
from console.engines.registry import engine_named
from console.planning.bind import bind
from console.planning.preview import Looking
from console.remote.ssh import Connections
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.settings.resolve import unit_of
from console.settings.unit_sanity import findings
from console.steps.host_preflight import refusals, warnings
from console.views.answers import labelled


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", nargs="?", metavar="TARGET", help="host/service, or host; may be left out when there is one"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace, output: Output) -> int:
    (target,) = bind(inventory(arguments), [arguments.target] if arguments.target else [], (), None)
    facts = asyncio.run(_look(target, output))
    sick, fatal, odd = examined(facts, target)
    if arguments.json:
        output.json({"target": target.name, "blocks": [*fatal, *sick], "warnings": odd})
    else:
        said = [f"{target.name}  {facts.unit.id}"]
        said += labelled("BLOCKS", [*fatal, *sick], 80)
        said += labelled("WARNS", odd, 80)
        said += [] if sick or fatal or odd else [" nothing to mend"]
        output.data("\n".join(said))
    return 1 if sick or fatal else 0


def examined(facts: Facts, target: Target) -> tuple[list[str], list[str], list[str]]:
    """What keeps the host from starting it again, what keeps systemd from loading it, and what is only odd."""
    load_s = facts.load_times_s[0] if facts.load_times_s else None
    found = findings(unit_of(facts), engine_named(target.service.engine), load_s)
    fatal = [each.text for each in found if each.is_fatal]
    return refusals(facts), fatal, [each.text for each in found if not each.is_fatal] + warnings(facts)


async def _look(target: Target, output: Output) -> Facts:
    connections = Connections(os.environ)
    try:
        return await Looking(connections, output.redactor, os.environ).facts(target)
    finally:
        await connections.aclose()
