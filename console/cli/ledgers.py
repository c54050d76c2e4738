"""Runs as the hosts' ledgers remember them: found by their id, and gone on with from any machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any

from console.cli import again
from console.cli.again import Past
from console.clock import SystemClock
from console.errors import ConsoleError, StateError
from console.remote.ledger import read_ledger
from console.remote.session import connect_reader
from console.remote.ssh import Connections
from console.runner.again import Earlier
from console.schema.hosts import Inventory, Target
from console.schema.plan import Plan
from console.secrets import Redactor

Found = tuple[Target, dict[str, Any]]


async def ledgers(
    targets: Sequence[Target], redactor: Redactor
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, ConsoleError]]:
    """Target → its change.json documents, newest first; and the targets that could not be looked at."""
    connections = Connections(os.environ)
    failed: dict[str, ConsoleError] = {}

    async def one(target: Target) -> list[dict[str, Any]]:
        try:
            reader = await connect_reader(
                target, redactor=redactor, clock=SystemClock(), environment=os.environ, connections=connections
            )
        except ConsoleError as error:
            failed[target.name] = error
            return []
        try:
            return await read_ledger(reader)
        except ConsoleError as error:
            failed[target.name] = error
            return []
        finally:
            await reader.aclose()

    try:
        found = await asyncio.gather(*(one(target) for target in targets))
    finally:
        await connections.aclose()
    return {target.name: documents for target, documents in zip(targets, found, strict=True)}, failed


def past_of(found: Sequence[Found], hosts: Inventory) -> Past:
    """The run that these entries are of, ready to be gone on with or undone."""
    earlier = {
        target.name: Earlier.of_ledger(
            str(document.get("run")),
            plan_of(document, target),
            str(document.get("purpose") or "run"),
            undoing=document.get("state") == "undoing",
        )
        for target, document in found
    }
    run = str(found[0][1].get("run"))
    first = next(iter(earlier.values()))
    who = found[0][1]
    operator = f"{who.get('operator') or 'somebody'} from {who.get('from_host') or 'an unknown host'}"
    return Past(run, earlier, hosts, again.runbook_of(first.plan), run, operator)


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
