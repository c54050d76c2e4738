"""`console history`: questions to the results repository, answered from its commits and records."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from console.cli.output import Output

# query → (module, help). Each has `add(parser)` and `run(arguments, output) -> int`.
QUERIES = {
    "list": ("console.cli.history_list", "the newest records first"),
    "show": ("console.cli.history_show", "one run: what was done, whether it holds, what it cost"),
    "report": ("console.cli.history_report", "the report of a run, also as one HTML file"),
    "compare": ("console.cli.history_compare", "two runs: what differs, and whether it is more than noise"),
    "blame": ("console.cli.history_blame", "who set each value in force, when and why"),
    "trend": ("console.cli.history_trend", "each measured figure over time, and where its level changed"),
    "drift": ("console.cli.history_drift", "what is not as it was recorded"),
    "adopt": ("console.cli.history_adopt", "record what is so now, as a beginning"),
    "approve": ("console.cli.history_approve", "approve a saved plan by a signed commit"),
    "audit": ("console.cli.history_audit", "one setting on every target in a period"),
}


class Query(argparse.ArgumentParser):
    """The parser of one query; its module is loaded when this query is asked, not with every other."""

    module = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.module:
            importlib.import_module(self.module).add(self)
            self.module = ""
        return super().parse_known_args(args, namespace)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", metavar="DIR", help="the results repository; default: the inventory's")
    commands = parser.add_subparsers(dest="query", metavar="QUERY", required=True, parser_class=Query)
    for name, (module, text) in QUERIES.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False)
        command.module = module


def run(arguments: argparse.Namespace, output: Output) -> int:
    module = importlib.import_module(QUERIES[arguments.query][0])
    code: int = module.run(arguments, output)
    return code
