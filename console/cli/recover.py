"""`console recover`: close runs whose process is gone, commit records that were refused. Changes no host."""

from __future__ import annotations

import argparse
import asyncio
import os

from console.cli.output import Output
from console.errors import ConsoleError
from console.runner.recover import recover
from console.runs.directory import RunDirectory, base_folder
from console.runs.listing import find_run, list_runs


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="*", metavar="RUN", help="default: every run that needs it")


def run(arguments: argparse.Namespace, output: Output) -> int:
    base = base_folder(os.environ)
    names = arguments.runs or [run.id for run in list_runs(base) if run.needs_recover or run.uncommitted]
    if not names:
        output.note("nothing to recover")
        return 0
    code = 0
    for name in names:
        directory = find_run(base, name)
        try:
            say(directory, output)
        except ConsoleError as error:
            code = output.error(error)
    return code


def say(directory: RunDirectory, output: Output) -> None:
    closed = asyncio.run(recover(directory, environment=os.environ, redactor=output.redactor))
    for target, outcome in closed.outcomes.items():
        output.data(f"{closed.run}  {target}  {outcome}")
    for note in closed.notes:
        output.note(f"  {note}")
