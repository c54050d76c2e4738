"""`console history adopt TARGET`: record what is so now, so that blame and drift have a beginning."""

from __future__ import annotations

import argparse
import asyncio

from console.cli.history_drift import add_words, keep, look
from console.cli.inventory import inventory
from console.cli.output import Output
from console.engines.registry import engine_named
from console.planning.bind import bind
from console.runner.observe import Observation
from console.schema.outcome import worst


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", nargs="+", metavar="TARGET", help="host/service, or host when it has one service")
    add_words(parser)


def run(arguments: argparse.Namespace, output: Output) -> int:
    hosts = inventory(arguments)
    looked, errors = asyncio.run(look(bind(hosts, arguments.targets, (), None), output))
    for target, facts in looked:
        keep(Observation("adopt", target, engine_named(target.service.engine), facts), hosts, arguments, output)
    return worst([output.error(error) for error in errors.values()])
