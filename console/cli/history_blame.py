"""`console history blame TARGET [SETTING]`: who set each value in force, when, in which run, and why."""

from __future__ import annotations

import argparse

from console.cli.output import Output
from console.cli.results import open_history, target_name
from console.results.queries.blame import blame, document


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="host/service, or host when it has one service")
    parser.add_argument("setting", nargs="?", default="", metavar="SETTING", help="only this setting")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace, output: Output) -> int:
    history, hosts = open_history(arguments)
    blamed = blame(history, target_name(arguments.target, hosts), arguments.setting)
    if arguments.json:
        output.json(document(blamed))
        return 0
    from console.views.history import blame_text

    output.data(blame_text(blamed))
    return 0
