"""Runbooks of one step, for verbs that are ordinary recorded runs: `measure`, and whatever else looks and records."""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence

from console.cli import ask_sudo, connecting, note
from console.cli.carry_out import drive, options
from console.cli.front import Front
from console.cli.inventory import inventory
from console.cli.output import Output
from console.planning import lint
from console.planning.bind import bind
from console.runner.launch import Request
from console.schema.events import Event
from console.schema.runbook import Runbook, parse_runbook

Field = str | int | float | bool | Sequence[str]


def add(parser: argparse.ArgumentParser) -> None:
    """What may be said to each of them."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="host/service, host, or group")
    parser.add_argument("--limit", metavar="TAG", help="only targets of hosts with this tag")
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    ask_sudo.add(parser)
    parser.add_argument("--json", action="store_true", help="events as JSON lines on stdout")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; kept in the record")
    parser.add_argument("--ticket", default="", metavar="ID", help="kept in the record")
    note.add(parser)
    parser.add_argument("--no-commit", action="store_true", help="keep the record, do not commit it")


def runbook_of(uses: str, title: str, fields: Mapping[str, Field], *, together: bool = False) -> Runbook:
    """A runbook with this one step; `together`: all its targets at a time.

    Raises InvalidFileError for keys or values that the step does not take.
    """
    where = f"console {uses.replace('.', ' ')}"
    return runbook_of_steps(uses.replace(".", "-"), title, [(uses, fields)], where, together=together)


def runbook_of_steps(
    name: str, title: str, steps: Sequence[tuple[str, Mapping[str, Field]]], where: str, *, together: bool = False
) -> Runbook:
    """The same of several steps, one after the other."""
    lines = ["schema = 1", f"name = {json.dumps(name)}", f"title = {json.dumps(title)}", 'unattended = "proceed"', ""]
    lines[-1:] = ['waves = ["100%"]', ""] if together else [""]
    for uses, fields in steps:
        lines += ["[[step]]", f"uses = {json.dumps(uses)}"]
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()]
    text = "\n".join(lines) + "\n"
    runbook = parse_runbook(text, tomllib.loads(text), where)
    lint.lint(runbook)
    return runbook


def run(
    arguments: argparse.Namespace,
    output: Output,
    runbook: Runbook,
    *,
    also: Callable[[Event], object] = lambda _event: None,
    end_is_data: bool = True,
) -> int:
    """Carry it out on the targets named: log, record and commit as any run. `also` hears its events."""
    hosts = inventory(arguments)
    targets = bind(hosts, arguments.targets, (), arguments.limit)
    arguments.yes, arguments.on_abort = True, "auto"  # nothing is changed, so there is nothing to ask
    front = Front(output, json=arguments.json, title=runbook.title, end_is_data=end_is_data)

    def heard(event: Event) -> None:
        front.event(event)
        also(event)

    request = Request(
        runbook=runbook,
        targets=targets,
        variables={},
        inventory=hosts,
        options=options(arguments, output),
        front=front,
        redactor=output.redactor,
        on_event=heard,
        ways=connecting.connections(arguments, output),
    )
    return drive(request, front).exit_code
