"""`console history`: what happened, from the results repository's commits."""

from __future__ import annotations

import argparse
import os

from console.cli.inventory import inventory
from console.cli.output import Output


def add(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="query", metavar="QUERY", required=True)
    listing = commands.add_parser("list", help="the newest records first")
    listing.add_argument("target", nargs="?", metavar="TARGET", help="only this target")
    listing.add_argument("-n", type=int, default=30, metavar="N", help="how many (default 30)")


def run(arguments: argparse.Namespace, output: Output) -> int:
    from console.results.queries.list import list_records
    from console.views.listings import history_table

    hosts = inventory(arguments)
    target = hosts.target(arguments.target).name if arguments.target else ""
    rows = list_records(hosts.results_path, limit=arguments.n, target=target, environment=os.environ)
    if not rows:
        output.note(f"no record in {hosts.results_path}")
        return 0
    output.data(history_table(rows))
    return 0
