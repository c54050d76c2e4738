"""`console runs`: the runs of this machine; --open those that somebody must still settle; --locks who is where now."""

from __future__ import annotations

import argparse
import os

from console.cli.output import Output
from console.errors import UsageError


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="with --locks, --everywhere, --break: only these")
    parser.add_argument("--open", action="store_true", help="only open ones, with the commands to settle them")
    parser.add_argument("--everywhere", action="store_true", help="open changes that the hosts' ledgers remember")
    parser.add_argument("--locks", action="store_true", help="who holds which unit, and how lively that is")
    parser.add_argument("--break", dest="break_run", default="", metavar="RUN", help="free a lock whose run hangs")
    parser.add_argument("--force", action="store_true", help="with --break: also a lock whose run is alive")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace, output: Output) -> int:
    if arguments.locks or arguments.everywhere or arguments.break_run:
        from console.cli import locks

        return locks.run(arguments, output)
    if arguments.targets or arguments.force:
        raise UsageError("TARGET goes with --locks, --everywhere or --break, and --force with --break")
    # Help needs no events.
    from console.runs.directory import base_folder
    from console.runs.listing import list_runs
    from console.views.listings import runs_table

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
