"""`console rollback RUN|TARGET`: undo a run of this machine, or what the host's ledger remembers as last."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping
from typing import Any

from console.cli import again
from console.cli.again import Past
from console.cli.inventory import inventory
from console.cli.output import Output
from console.cli.run import add_pending, add_words
from console.clock import SystemClock
from console.errors import StateError, UsageError
from console.planning import policy
from console.remote.ledger import read_ledger
from console.remote.session import connect_reader
from console.runner.again import Earlier
from console.schema.hosts import Target
from console.schema.plan import Plan


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("earlier", metavar="RUN|TARGET", help="a run's id, or a target whose last change is undone")
    add_pending(parser)
    add_words(parser)


def run(arguments: argparse.Namespace, output: Output) -> int:
    try:
        hosts = inventory(arguments)
    except UsageError:
        hosts = None
    target = again.target_named(hosts, arguments.earlier) if hosts else None
    if hosts is None or target is None:
        return again.carry_out(again.of_this_machine(arguments.earlier, "rollback"), "rollback", arguments, output)
    policy.keys([target], os.environ)
    earlier, root = asyncio.run(last_change(target, output))
    past = Past(earlier.run, {target.name: earlier}, hosts, again.runbook_of(earlier.plan), root)
    return again.carry_out(past, "rollback", arguments, output)


async def last_change(target: Target, output: Output) -> tuple[Earlier, str]:
    """The newest change that the host remembers and that is not undone, and the run whose entry holds its backups.

    A rollback that was not finished is finished; what a resume went on with is undone as a whole. Raises StateError.
    """
    reader = await connect_reader(target, redactor=output.redactor, clock=SystemClock(), environment=os.environ)
    try:
        documents = {str(entry.get("run")): entry for entry in await read_ledger(reader)}
    finally:
        await reader.aclose()
    for document in sorted(documents.values(), key=lambda entry: str(entry.get("run")), reverse=True):
        state, purpose = document.get("state"), document.get("purpose")
        if state in ("unchanged", "rolled-back") or (purpose == "rollback" and state != "open"):
            continue
        root = root_of(document, documents)
        if root.get("state") == "rolled-back":
            continue
        return Earlier.of_ledger(str(root.get("run")), plan_of(root, target)), str(root.get("run"))
    raise StateError(
        f"the ledger on {target.host_name} has no change of {target.service.unit} to undo", where=target.name
    )


def root_of(document: dict[str, Any], documents: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The run that a resume or a rollback is about, as far as the host remembers it."""
    seen: set[str] = set()
    while document.get("purpose") in ("resume", "rollback"):
        parent = str(document.get("parent"))
        if parent not in documents or parent in seen:
            return document
        seen.add(parent)
        document = documents[parent]
    return document


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
