"""`console history show RUN`: one run, from its commit and its record."""

from __future__ import annotations

import argparse

from console.cli.output import Output
from console.cli.results import open_history, target_name
from console.errors import UsageError
from console.results.store import find_rows, raw_record, record_of


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run's id, or its beginning")
    parser.add_argument("--target", default="", metavar="TARGET", help="only this target of it")
    parser.add_argument("--json", action="store_true", help="the records as JSON, one a line")


def run(arguments: argparse.Namespace, output: Output) -> int:
    history, hosts = open_history(arguments)
    rows = find_rows(history, arguments.run)
    if wanted := target_name(arguments.target, hosts):
        named = [row for row in rows if row.target == wanted]
        if not named:
            raise UsageError(f"run {rows[0].run} has no record of {wanted}", hint=", ".join(row.target for row in rows))
        rows = named
    for index, row in enumerate(rows):
        if arguments.json:
            output.json(raw_record(history, row))
            continue
        from console.views.record import record_text

        message = history.git.run("log", "-1", "--format=%B", row.sha).out
        output.data(("\n" if index else "") + record_text(record_of(history, row), message, row.sha))
    return 0
