"""`console runs --locks`, `--everywhere` and `--break RUN`: what the hosts themselves say of who is at work there."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from console.cli import identity
from console.cli.inventory import inventory
from console.cli.ledgers import ledgers
from console.cli.output import Output
from console.clock import SystemClock, stamp
from console.errors import ConsoleError, LockHeldError, UsageError
from console.planning.bind import bind
from console.remote import holder
from console.remote.holder import Sight
from console.remote.session import Reader, connect_reader
from console.remote.ssh import Connections
from console.schema.facts import OPEN_STATES
from console.schema.hosts import Target
from console.untrusted import one_line
from console.views.locks import ledger_table, locks_table

Seen = TypeVar("Seen")


def run(arguments: argparse.Namespace, output: Output) -> int:
    hosts = inventory(arguments)
    targets = bind(hosts, arguments.targets, (), None) if arguments.targets else hosts.targets()
    if arguments.break_run:
        return asyncio.run(free(arguments.break_run.strip().upper(), targets, output, force=arguments.force))
    if arguments.everywhere:
        return asyncio.run(remembered(targets, output, json=arguments.json))
    return asyncio.run(held(targets, output, json=arguments.json))


async def held(targets: Sequence[Target], output: Output, *, json: bool) -> int:
    """Every lock, and the evidence for what it is called."""
    sights, code = await each(targets, output, holder.look)
    if json:
        for sight in sights:
            output.json(row_of(sight))
    elif sights:
        output.data(locks_table(sights))
    return code


def row_of(sight: Sight) -> dict[str, Any]:
    """A lock as JSON has it."""
    return {
        "target": sight.target,
        "state": sight.state,
        "evidence": sight.evidence,
        "run": sight.run,
        "operator": sight.document.get("operator", ""),
        "from_host": sight.document.get("from_host", ""),
        "since": sight.document.get("since", ""),
        "runbook": sight.document.get("runbook", ""),
        "reason": sight.document.get("reason", ""),
        "pid": sight.pid or None,
        "age_s": sight.age_s,
        "heard_s": sight.heard_s,
    }


async def remembered(targets: Sequence[Target], output: Output, *, json: bool) -> int:
    """Changes that wait for somebody, whoever made them and wherever that machine is now."""
    found, failed = await ledgers(targets, output.redactor)
    waiting = [
        (target.name, document)
        for target in targets
        for document in found[target.name]
        if document.get("state") in OPEN_STATES
    ]
    said = ("run", "state", "operator", "from_host", "at", "runbook", "summary", "reason", "purpose", "parent")
    if json:
        for name, document in waiting:
            output.json({"target": name, **{key: one_line(str(document.get(key) or ""), 300) for key in said}})
    elif waiting:
        output.data(ledger_table(waiting))
    else:
        output.note("no open change on any host that was reached")
    return told(failed, output)


async def free(run_id: str, targets: Sequence[Target], output: Output, *, force: bool) -> int:
    """Break the locks of one run, which must be named in full. Raises UsageError, LockHeldError."""
    sights, code = await each(targets, output, holder.look)
    mine = {sight.target: sight for sight in sights if sight.held and sight.run == run_id}
    if not mine:
        others = ", ".join(sorted({f"{sight.run} ({sight.target})" for sight in sights if sight.held}))
        raise UsageError(f"no lock of run {run_id}", hint=f"held now: {others}" if others else "no lock is held")
    for sight in mine.values():
        if sight.state != "stale" and not force:
            raise LockHeldError(
                f"run {run_id} is alive: {sight.evidence}",
                where=sight.target,
                hint="stop it where it runs; --force breaks it all the same, in the middle of what it does",
            )
    by = f"{identity.operator()} from {identity.this_host()}"

    async def break_it(reader: Reader) -> Sight:
        await holder.break_lock(reader.writer(), run_id, by, stamp(SystemClock().now()))
        return await holder.look(reader)

    freed, failed = await each([target for target in targets if target.name in mine], output, break_it)
    for sight in freed:
        output.data(f"{sight.target}: lock of run {run_id} broken; it was: {mine[sight.target].evidence}")
    output.note(f"what that run left: console runs --everywhere; finish it with: console takeover {run_id}")
    return failed or code


async def each(
    targets: Sequence[Target], output: Output, act: Callable[[Reader], Awaitable[Seen]]
) -> tuple[list[Seen], int]:
    """What `act` sees on each target that can be reached, and the exit code for those that cannot."""
    connections = Connections(os.environ)
    failed: dict[str, ConsoleError] = {}

    async def one(target: Target) -> Seen | None:
        try:
            reader = await connect_reader(
                target,
                redactor=output.redactor,
                clock=SystemClock(),
                environment=os.environ,
                connections=connections,
            )
        except ConsoleError as error:
            failed[target.name] = error
            return None
        try:
            return await act(reader)
        except ConsoleError as error:
            failed[target.name] = error
            return None
        finally:
            await reader.aclose()

    try:
        seen = await asyncio.gather(*(one(target) for target in targets))
    finally:
        await connections.aclose()
    return [sight for sight in seen if sight is not None], told(failed, output)


def told(failed: dict[str, ConsoleError], output: Output) -> int:
    """Say what could not be looked at; the exit code of the first of them."""
    for name, error in failed.items():
        output.note(f"{name}: {error.message}")
    return next(iter(failed.values())).exit_code if failed else 0
