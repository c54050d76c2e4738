"""`console history drift`: what is not as it was recorded; --record commits what was seen, and changes nothing."""

from __future__ import annotations

import argparse
import asyncio
import os
from dataclasses import asdict

from console.cli import identity, note
from console.cli.inventory import inventory
from console.cli.output import Output
from console.clock import SystemClock
from console.engines.registry import engine_named
from console.errors import ConsoleError
from console.planning.bind import bind
from console.planning.preview import Looking
from console.remote.ssh import Connections
from console.results.history import History
from console.results.queries.drift import Drifted, drift
from console.runner.observe import Observation, Words, record
from console.schema.events import DriftObserved
from console.schema.facts import Facts
from console.schema.hosts import Inventory, Target
from console.schema.outcome import worst
from console.views.drift import drift_text

DRIFTED = 1


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="host/service, or host when it has one service")
    parser.add_argument("--limit", metavar="TAG", help="only targets of hosts with this tag")
    parser.add_argument("--record", action="store_true", help="commit what differs, as observed and not as made by us")
    parser.add_argument("--json", action="store_true", help="one JSON object a target")
    add_words(parser)


def add_words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; kept in the record")
    parser.add_argument("--ticket", default="", metavar="ID", help="kept in the record")
    note.add(parser)


def run(arguments: argparse.Namespace, output: Output) -> int:
    hosts = inventory(arguments)
    history = History(hosts.results_path, os.environ)
    targets = bind(hosts, arguments.targets, (), arguments.limit)
    looked, errors = asyncio.run(look(targets, output))
    codes = [output.error(error) for error in errors.values()]
    found = [drift(history, facts, engine_named(target.service.engine)) for target, facts in looked]
    if arguments.json:
        for one in found:
            output.json(asdict(one))
    elif found:
        output.data(drift_text(found))
    if arguments.record:
        for (target, facts), one in zip(looked, found, strict=True):
            if one.drifts:
                keep(Observed(target, facts, one), hosts, arguments, output)
    return worst([*codes, *(DRIFTED for one in found if one.drifts and not arguments.record)])


class Observed(Observation):
    """What drifted, as a record's events say it."""

    def __init__(self, target: Target, facts: Facts, found: Drifted) -> None:
        events = [
            DriftObserved(
                target=target.name,
                setting=one.setting,
                before=one.recorded,
                after=one.now,
                how=f"{one.how}, {one.where}" if one.where in ("disk", "running") else one.how,
                since=found.recorded_at,
                until=found.looked_at,
                path=one.path,
            )
            for one in found.drifts
        ]
        super().__init__("observe", target, engine_named(target.service.engine), facts, events)


def keep(seen: Observation, hosts: Inventory, arguments: argparse.Namespace, output: Output) -> None:
    """Record it and say where."""
    said = note.note_of(arguments, output)
    words = Words(identity.operator(), identity.this_host(), arguments.reason, arguments.ticket, said)
    kept = asyncio.run(
        record(seen, words, inventory=hosts, redactor=output.redactor, clock=SystemClock(), environment=os.environ)
    )
    for line in kept.notes:
        output.note(line)
    output.note(f"{seen.target.name}: recorded by run {kept.run}" + (f", commit {kept.sha[:12]}" if kept.sha else ""))


async def look(targets: list[Target], output: Output) -> tuple[list[tuple[Target, Facts]], dict[str, ConsoleError]]:
    """The facts of each target at once; a host that cannot be looked at is an error of its own."""
    looking = Looking(Connections(os.environ), output.redactor, os.environ)
    seen: dict[str, Facts] = {}
    errors: dict[str, ConsoleError] = {}

    async def one(target: Target) -> None:
        try:
            seen[target.name] = await looking.facts(target)
        except ConsoleError as error:
            errors[target.name] = error

    try:
        await asyncio.gather(*(one(target) for target in targets))
    finally:
        await looking.connections.aclose()
    return [(target, seen[target.name]) for target in targets if target.name in seen], errors
