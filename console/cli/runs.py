"""`console runs`: the runs of this machine; --open those that somebody must still settle."""

from __future__ import annotations

import argparse
import os

from console.cli.output import Output
from console.runs.directory import base_folder
from console.runs.listing import list_runs
from console.views.listings import runs_table


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--open", action="store_true", help="only open ones, with the commands to settle them")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace, output: Output) -> int:
    found = list_runs(base_folder(os.environ))
    if arguments.open:
        found = [summary for summary in found if summary.open]
    if arguments.json:
        for summary in found:
            output.json(summary.document())
        return 0
    if not found:
        output.note("no open run" if arguments.open else "no run yet")
        return 0
    output.data(runs_table(found, with_next=arguments.open))
    return 0
