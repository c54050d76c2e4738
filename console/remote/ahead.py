"""Hosts that are read before anybody has joined their connections: while a program is still being loaded, they idle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from console.clock import Clock
from console.errors import ConsoleError
from console.remote.http import Forward
from console.remote.link import Seen, shared_link
from console.remote.session import Reader
from console.remote.ssh import Connections
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.secrets import Redactor

# Older than this it is read again: what a plan says is so must be so now.
FRESH_S = 10.0


def begin(
    target: Target,
    connections: Connections,
    read: Callable[[Reader], Awaitable[Facts]],
    *,
    redactor: Redactor,
    clock: Clock,
    key: str | None,
) -> None:
    """Read a target once its link has a connection. The reader that joins first gets what was seen, see `taken`."""
    link = shared_link(target, connections, clock)
    begun = link.begin()
    reader = Reader(
        link, target, redactor=redactor, clock=clock, forward=(forward := Forward(link, target.service, clock, key))
    )

    async def seen() -> Seen:
        await asyncio.shield(begun)  # which logs in once: a refusal is not asked for again by each service of a host
        generation = link.generation
        try:
            facts = await read(reader)
            return Seen(facts, generation, asyncio.get_running_loop().time())
        finally:
            await forward.aclose()

    connections.ahead[target.name] = asyncio.create_task(seen())


async def taken(reader: Reader) -> Facts | None:
    """What was seen ahead, once; None where nothing was, that failed or is old, or the connection is a new one."""
    begun, reader.ahead = reader.ahead, None
    if begun is None:
        return None
    with suppress(ConsoleError):  # whoever reads now is told what is wrong now
        seen = await begun
        if seen.generation == reader.generation and asyncio.get_running_loop().time() - seen.at < FRESH_S:
            return seen.facts
    return None
