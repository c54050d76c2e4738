"""`console rollback RUN|TARGET`: undo a run of this machine, or what the host's ledger remembers as last."""

from __future__ import annotations

import argparse
import asyncio
import os
from typing import Any

from console.cli import again
from console.cli.again import Earlier
from console.cli.inventory import inventory
from console.cli.output import Output
from console.cli.run import add_words
from console.clock import SystemClock
from console.errors import StateError, UsageError
from console.planning import policy
from console.remote.ledger import read_ledger
from console.remote.session import connect_reader
from console.schema.hosts import Target
from console.schema.plan import Plan


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("earlier", metavar="RUN|TARGET", help="a run's id, or a target whose last change is undone")
    add_words(parser)


def run(arguments: argparse.Namespace, output: Output) -> int:
    try:
        hosts = inventory(arguments)
    except UsageError:
        hosts = None
    target = again.target_named(hosts, arguments.earlier) if hosts else None
    if hosts is None or target is None:
        return again.carry_out(again.of_this_machine(arguments.earlier), "rollback", arguments, output)
    policy.keys([target], os.environ)
    run_id, plan = asyncio.run(last_change(target, output))
    earlier = Earlier(run_id, {target.name: plan}, hosts, again.runbook_of(plan))
    return again.carry_out(earlier, "rollback", arguments, output)


async def last_change(target: Target, output: Output) -> tuple[str, Plan]:
    """The newest change that the host remembers and that is not undone: its run and plan. Raises StateError."""
    reader = await connect_reader(target, redactor=output.redactor, clock=SystemClock(), environment=os.environ)
    try:
        documents = await read_ledger(reader)
    finally:
        await reader.aclose()
    undone: set[str] = set()
    for document in sorted(documents, key=lambda entry: str(entry.get("run")), reverse=True):
        run_id = str(document.get("run"))
        if document.get("purpose") == "rollback" and document.get("state") == "verified":
            undone.add(str(document.get("parent")))
        elif document.get("state") not in ("unchanged", "rolled-back") and run_id not in undone:
            return run_id, plan_of(document, target)
    raise StateError(
        f"the ledger on {target.host_name} has no change of {target.service.unit} to undo", where=target.name
    )


def plan_of(document: dict[str, Any], target: Target) -> Plan:
    """The plan in a change.json, bound to the target as this machine's inventory has it."""
    if document.get("schema") != 1:
        raise StateError(
            f"change.json has schema {document.get('schema')!r}", where=target.name, hint="use a newer console"
        )
    try:
        plan = Plan.model_validate(document.get("plan"))
    except ValueError as error:
        raise StateError(f"change.json of run {document.get('run')} is damaged: {error}", where=target.name) from None
    return plan.model_copy(update={"target": target})
