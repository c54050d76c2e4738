"""`console resume RUN`: go on with an interrupted run, from what the host shows now."""

from __future__ import annotations

import argparse

from console.cli import again
from console.cli.consent import add_pending
from console.cli.output import Output
from console.cli.run import add_words


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("earlier", metavar="RUN", help="a run's id, or its beginning; see 'console runs --open'")
    add_pending(parser)
    add_words(parser)


def run(arguments: argparse.Namespace, output: Output) -> int:
    return again.carry_out(again.of_this_machine(arguments.earlier, "resume"), "resume", arguments, output)
