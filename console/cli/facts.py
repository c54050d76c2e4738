"""`console facts TARGET`: what is so on a target now, at four levels. Reads only."""

from __future__ import annotations

import argparse
import asyncio
import os

from console.cli import ask_sudo, connecting
from console.cli.inventory import inventory
from console.cli.output import Output
from console.engines.registry import engine_named
from console.planning import policy
from console.planning.preview import Looking
from console.remote.ssh import Connections
from console.runner import describe
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.settings.levels import Levels
from console.settings.resolve import unit_of
from console.settings.unit_sanity import findings
from console.steps.levels import event_of, levels_of
from console.views.facts import facts_text

# Shown without being asked for; others with --setting.
USUAL = ("context_length", "mem_fraction", "kv_cache_dtype", "max_running_requests")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", nargs="?", metavar="TARGET", help="host/service, or host; may be left out when there is one"
    )
    parser.add_argument("--setting", action="append", default=[], metavar="NAME", help="show this setting too")
    ask_sudo.add(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace, output: Output) -> int:
    from console.planning.bind import bind

    hosts = inventory(arguments)
    targets = bind(hosts, [arguments.target] if arguments.target else [], (), None)
    policy.keys(targets, os.environ)
    for target in targets:
        engine = engine_named(target.service.engine)
        facts = asyncio.run(_look(target, output, connecting.connections(arguments, output)))
        usual = [name for name in USUAL if name in engine.spellings]
        levels = [levels_of(facts, engine, name) for name in (*usual, *arguments.setting)]
        load_s = facts.load_times_s[0] if facts.load_times_s else None
        odd = [each.text for each in findings(unit_of(facts), engine, load_s)]
        if arguments.json:
            body = describe.facts(facts) | {
                "levels": [event_of(target.name, level).model_dump(mode="json") for level in levels],
                "warnings": odd,
            }
            output.json(body)
        else:
            output.data(facts_text(facts, shown(levels, arguments.setting), odd=odd))
    return 0


def shown(levels: list[Levels], asked: list[str]) -> list[Levels]:
    """Settings that are set somewhere, and those asked for."""
    return [
        level
        for level in levels
        if level.setting in asked
        or any(place.value is not None for place in (level.disk, level.loaded, level.running, level.serving))
    ]


async def _look(target: Target, output: Output, ways: Connections) -> Facts:
    connections = ways
    try:
        return await Looking(connections, output.redactor, os.environ).facts(target)
    finally:
        await connections.aclose()
