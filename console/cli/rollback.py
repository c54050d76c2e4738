"""`console rollback RUN|TARGET`: undo a run of this machine, or what the host's ledger remembers as last."""

from __future__ import annotations

import argparse
import asyncio
import os

from console.cli import again, connecting
from console.cli.again import Past
from console.cli.consent import add_pending
from console.cli.inventory import inventory
from console.cli.ledgers import past_of, root_of
from console.cli.output import Output
from console.cli.run import add_words
from console.clock import SystemClock
from console.errors import StateError, UsageError
from console.planning import policy
from console.remote.ledger import read_ledger
from console.remote.session import connect_reader
from console.remote.ssh import Connections
from console.schema.facts import OPEN_STATES
from console.schema.hosts import Inventory, Target


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
    policy.whole_engine(target)
    policy.keys([target], os.environ)
    past = asyncio.run(last_change(target, hosts, output, connecting.connections(arguments, output)))
    return again.carry_out(past, "rollback", arguments, output)


async def last_change(target: Target, hosts: Inventory, output: Output, ways: Connections) -> Past:
    """The newest change that the host remembers and that is not undone, and the run whose entry holds its backups.

    A rollback that was not finished is finished; what a resume went on with is undone as a whole. Raises StateError.
    """
    reader = await connect_reader(
        target,
        redactor=output.redactor,
        clock=SystemClock(),
        environment=os.environ,
        connections=ways,
    )
    reader.use_sudo("password")
    try:
        documents = {str(entry.get("run")): entry for entry in await read_ledger(reader)}
    finally:
        await reader.aclose()
        await ways.aclose()
    for document in sorted(documents.values(), key=lambda entry: str(entry.get("run")), reverse=True):
        state, purpose = document.get("state"), document.get("purpose")
        if state in ("unchanged", "rolled-back") or (purpose == "rollback" and state not in OPEN_STATES):
            continue
        root = root_of(document, documents)
        if root.get("state") == "rolled-back":
            continue
        return past_of([(target, root)], hosts)
    raise StateError(
        f"the ledger on {target.host_name} has no change of {target.service.unit} to undo", where=target.name
    )
