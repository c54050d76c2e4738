"""`console doctor TARGET`: is the unit sane, and would this host start it again? Reads only."""

from __future__ import annotations

import argparse
import asyncio
import os

from console.cli import ask_sudo, connecting
from console.cli.inventory import inventory
from console.cli.output import Output
from console.engines.registry import engine_named
from console.facts.collect import editable, makeable
from console.planning.bind import bind
from console.planning.preview import Looking
from console.remote.ssh import Connections
from console.remote.sudo import sudoers
from console.schema.facts import ABLE, Facts
from console.schema.hosts import Target
from console.settings.resolve import unit_of
from console.settings.unit_sanity import findings
from console.steps.coming_back import reasons, verdict, warnings
from console.views.answers import labelled


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", nargs="?", metavar="TARGET", help="host/service, or host; may be left out when there is one"
    )
    parser.add_argument("--sudoers", action="store_true", help="print the sudoers lines that a run here needs")
    ask_sudo.add(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace, output: Output) -> int:
    (target,) = bind(inventory(arguments), [arguments.target] if arguments.target else [], (), None)
    facts = asyncio.run(_look(target, output, connecting.connections(arguments, output)))
    if arguments.sudoers:
        for place, seen in zip((target, *target.nodes), (facts, *facts.nodes), strict=True):
            if target.nodes:
                output.data(f"# on {place.host_name}, {place.called}:")
            output.data(sudoers(place, editable(seen), seen.host.login_user, new=makeable(seen)))
        return 0
    sick, fatal, odd = examined(facts, target)
    for place, seen in zip(target.nodes, facts.nodes, strict=True):
        for said, more in zip((sick, fatal, odd), examined(seen, place), strict=True):
            said += [f"{place.node}: {text}" for text in more]
    if arguments.json:
        output.json({"target": target.name, "blocks": [*fatal, *sick], "warnings": odd, "verdict": verdict(facts)})
    else:
        lines = [f"{target.name}  {facts.unit.id}"]
        lines += labelled("BLOCKS", [*fatal, *sick], 80)
        lines += labelled("WARNS", odd, 80)
        lines += [] if sick or fatal or odd else [" nothing to mend"]
        lines += [f" {verdict(facts)}"] if not sick else []
        output.data("\n".join(lines))
    return 1 if sick or fatal else 0


def examined(facts: Facts, target: Target) -> tuple[list[str], list[str], list[str]]:
    """What keeps the host from starting it again, what keeps systemd from loading it, and what is only odd."""
    load_s = facts.load_times_s[0] if facts.load_times_s else None
    found = findings(unit_of(facts), engine_named(target.service.engine), load_s)
    fatal = [each.text for each in found if each.is_fatal]
    if facts.host.sudo_missing:
        fatal.append(f"sudo does not allow {len(facts.host.sudo_missing)} of the commands that a run needs: --sudoers")
    elif facts.host.sudo not in ABLE:
        said = facts.host.sudo_said or "it does not say why"
        fatal.append(f"sudo is {facts.host.sudo}: a run would change nothing ({said})")
    odd = [each.text for each in found if not each.is_fatal] + warnings(facts, unit_of(facts))
    return reasons(facts), fatal, odd


async def _look(target: Target, output: Output, ways: Connections) -> Facts:
    connections = ways
    try:
        return await Looking(connections, output.redactor, os.environ).facts(target)
    finally:
        await connections.aclose()
