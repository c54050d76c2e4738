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
    if not names and not push(arguments, output):
        output.note("nothing to recover")
        return 0
    code = 0
    for name in names:
        directory = find_run(base, name)
        try:
            say(directory, output)
        except ConsoleError as error:
            code = output.error(error)
    if names:
        push(arguments, output)
    return code


def push(arguments: argparse.Namespace, output: Output) -> int:
    """Push what the inventory's results repository still holds back; returns how many commits waited."""
    from console.cli.inventory import inventory
    from console.results.repository import Repository

    try:
        hosts = inventory(arguments)
        if hosts.results.push != "auto" or not os.path.lexists(hosts.results_path / ".git"):
            return 0
        repository = Repository(hosts.results_path, environment=os.environ)
        waiting = repository.unpushed() or 0
        if waiting:
            reason = repository.publish()
            output.note(f"{waiting} commits not pushed: {reason}" if reason else f"pushed {waiting} commits")
    except ConsoleError as error:
        output.note(f"not pushed: {error.message}")
        return 0
    return waiting


def say(directory: RunDirectory, output: Output) -> None:
    closed = asyncio.run(recover(directory, environment=os.environ, redactor=output.redactor))
    for target, outcome in closed.outcomes.items():
        output.data(f"{closed.run}  {target}  {outcome}")
    for note in closed.notes:
        output.note(f"  {note}")
