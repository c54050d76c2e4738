"""Reading that begins before anybody has joined the connection."""

from __future__ import annotations

import asyncio

import pytest

from console.clock import SystemClock
from console.errors import RefusedError
from console.remote import ahead
from console.remote.session import Reader, connect_reader
from console.remote.ssh import Connections
from console.schema.facts import Facts, HostState, UnitState
from console.secrets import Redactor
from tests.remote.sshd import Sshd


async def read(reader: Reader) -> Facts:
    said = await reader.look("look_lock.sh", reader.lock_file)
    state = HostState(hostname=f"{len(said.sections)} sections")
    return Facts(target=reader.target.name, read_at="2026-01-02T03:04:05Z", host=state, unit=UnitState(id="a.service"))


def begin(sshd: Sshd, ways: Connections) -> None:
    ahead.begin(sshd.target(), ways, read, redactor=Redactor(), clock=SystemClock(), key=None)


async def join(sshd: Sshd, ways: Connections) -> Reader:
    return await connect_reader(
        sshd.target(), redactor=Redactor(), clock=SystemClock(), environment={}, connections=ways
    )


async def test_who_joins_first_gets_what_was_seen_once(sshd: Sshd) -> None:
    ways = Connections({})
    begin(sshd, ways)
    reader, second = await join(sshd, ways), await join(sshd, ways)
    facts = await ahead.taken(reader)
    assert facts is not None
    assert facts.host.hostname == "2 sections"
    assert await ahead.taken(reader) is None
    assert await ahead.taken(second) is None
    assert sshd.logins == 1
    await reader.aclose()
    await second.aclose()


async def test_what_was_seen_over_a_connection_that_died_is_not_taken(sshd: Sshd) -> None:
    ways = Connections({})
    begin(sshd, ways)
    reader = await join(sshd, ways)
    await asyncio.wait([reader.ahead] if reader.ahead else [])
    sshd.cut()
    await reader.look("look_lock.sh", reader.lock_file, patience_s=5.0)
    assert await ahead.taken(reader) is None
    await reader.aclose()


async def test_a_reading_that_failed_is_for_who_reads_now_to_tell(sshd: Sshd) -> None:
    async def fails(_reader: Reader) -> Facts:
        raise RefusedError("not today")

    ways = Connections({})
    ahead.begin(sshd.target(), ways, fails, redactor=Redactor(), clock=SystemClock(), key=None)
    reader = await join(sshd, ways)
    assert await ahead.taken(reader) is None
    await reader.aclose()


async def test_a_reader_that_is_closed_before_it_took_anything_ends_the_reading(sshd: Sshd) -> None:
    ways = Connections({})
    begin(sshd, ways)
    reader = await join(sshd, ways)
    reading = reader.ahead
    assert reading is not None
    await reader.aclose()
    await asyncio.wait([reading])
    assert reading.cancelled()


@pytest.mark.parametrize("connected", [True, False], ids=["connected", "connecting"])
async def test_what_nobody_took_ends_with_the_ways_there(sshd: Sshd, connected: bool) -> None:
    async def stays(_reader: Reader) -> Facts:
        await asyncio.Event().wait()
        raise AssertionError("nothing sets it")

    ways = Connections({})
    ahead.begin(sshd.target(), ways, stays, redactor=Redactor(), clock=SystemClock(), key=None)
    link = next(iter(ways.links.values()))
    if connected:
        await link.connection()
    (reading,) = ways.ahead.values()
    await ways.aclose()
    assert reading.cancelled()
    assert not link.alive
