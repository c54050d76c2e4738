"""`console history`: questions to the results repository, answered from its commits and records."""

from __future__ import annotations

import argparse
import importlib

from console.cli.output import Output

# query → (module, help). Each has `add(parser)` and `run(arguments, output) -> int`.
QUERIES = {
    "list": ("console.cli.history_list", "the newest records first"),
    "show": ("console.cli.history_show", "one run: what was done, whether it holds, what it cost"),
    "compare": ("console.cli.history_compare", "two runs: what differs, and whether it is more than noise"),
    "blame": ("console.cli.history_blame", "who set each value in force, when and why"),
    "audit": ("console.cli.history_audit", "one setting on every target in a period"),
}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", metavar="DIR", help="the results repository; default: the inventory's")
    commands = parser.add_subparsers(dest="query", metavar="QUERY", required=True)
    for name, (module, text) in QUERIES.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False)
        importlib.import_module(module).add(command)


def run(arguments: argparse.Namespace, output: Output) -> int:
    module = importlib.import_module(QUERIES[arguments.query][0])
    code: int = module.run(arguments, output)
    return code
