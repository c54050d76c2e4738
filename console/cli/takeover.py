"""`console takeover RUN`: finish a run whose machine is gone, from the ledger on its hosts."""

from __future__ import annotations

import argparse
import asyncio
import os

from console.cli import again
from console.cli.consent import add_pending
from console.cli.inventory import inventory
from console.cli.ledgers import Found, ledgers, past_of, root_of
from console.cli.output import Output
from console.cli.run import add_words
from console.errors import StateError, UsageError
from console.planning import policy
from console.planning.bind import bind
from console.schema.facts import OPEN_STATES
from console.schema.hosts import Target


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help="its id, or the beginning; see console runs --everywhere")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="look there only; default: the whole inventory")
    parser.add_argument("--rollback", action="store_true", help="put it back instead of going on with it")
    add_pending(parser)
    add_words(parser)


def run(arguments: argparse.Namespace, output: Output) -> int:
    hosts = inventory(arguments)
    targets = bind(hosts, arguments.targets, (), None) if arguments.targets else hosts.targets()
    found = asyncio.run(find(arguments.run_id, targets, output))
    policy.keys([target for target, _ in found], os.environ)
    past = past_of(found, hosts)
    purpose: again.Purpose = "rollback" if arguments.rollback else "resume"
    commands = [change for plan in past.targets.values() for change in plan.plan.changes if change.kind == "command"]
    if commands and purpose == "resume":
        raise StateError(
            f"run {past.run} runs commands, and the ledger cannot tell which of them ran: it is not gone on with",
            hint=f"console takeover {past.run} --rollback, or look at the host and run the runbook again",
        )
    return again.carry_out(past, purpose, arguments, output)


async def find(prefix: str, targets: list[Target], output: Output) -> list[Found]:
    """The open entries of one run. Raises UsageError for none or several runs, StateError for one that is closed."""
    wanted = prefix.strip().upper()
    targets = [target for target in targets if not target.part_of]  # its entry is one share of another target's change
    found, failed = await ledgers(targets, output.redactor)
    for name, error in failed.items():
        output.note(f"{name} could not be looked at: {error.message}")
    entries = [
        (target, document, found[target.name])
        for target in targets
        for document in found[target.name]
        if wanted and str(document.get("run", "")).startswith(wanted)
    ]
    names = sorted({str(document.get("run")) for _, document, _ in entries})
    if not names:
        raise UsageError(f"no ledger knows a run {prefix!r}", hint="console runs --everywhere")
    if len(names) > 1:
        raise UsageError(f"{len(names)} runs begin with {prefix!r}: {', '.join(names[:5])}", hint="give more of the id")
    waiting = [
        (target, rooted(document, everything))
        for target, document, everything in entries
        if document.get("state") in OPEN_STATES
    ]
    if not waiting:
        ended = ", ".join(f"{target.name} {document.get('state')}" for target, document, _ in entries)
        raise StateError(f"run {names[0]} is not open any more: {ended}", hint="console rollback TARGET undoes it")
    return waiting


def rooted(document: dict[str, object], everything: list[dict[str, object]]) -> dict[str, object]:
    """The entry that holds the backups; a rollback that was not finished is finished as one."""
    root = root_of(document, {str(entry.get("run")): entry for entry in everything})
    return root | {"state": "undoing"} if document.get("purpose") == "rollback" else root
