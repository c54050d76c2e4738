"""`console history compare A B`: settings and figures of two runs, and whether a difference is more than noise."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from console.cli.output import Output
from console.cli.results import open_history


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="a run's id, or its beginning")
    parser.add_argument("b", metavar="B", help="the run it is compared with")
    parser.add_argument("--json", action="store_true", help="one JSON object a target")


def run(arguments: argparse.Namespace, output: Output) -> int:
    from console.results.queries.compare import compare_runs
    from console.views.history import compare_text

    history, _hosts = open_history(arguments)
    compared = compare_runs(history, arguments.a, arguments.b)
    if arguments.json:
        for one in compared:
            output.json(asdict(one))
    else:
        output.data(compare_text(compared))
    return 0
