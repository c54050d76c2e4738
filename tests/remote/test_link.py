"""A connection that begins before anybody has joined it."""

from __future__ import annotations

import pytest

from console.clock import SystemClock
from console.errors import AuthenticationError
from console.remote.link import Link, shared_link
from console.remote.ssh import Connections
from tests.remote.sshd import Sshd


def begun(sshd: Sshd, ways: Connections) -> Link:
    link = shared_link(sshd.target(), ways, SystemClock())
    link.begin()
    return link


@pytest.mark.parametrize("connected", [True, False], ids=["connected", "connecting"])
async def test_who_joins_what_was_begun_hears_of_one_login_as_of_their_own(sshd: Sshd, connected: bool) -> None:
    ways = Connections({})
    link = begun(sshd, ways)
    if connected:
        await link.connection()
    heard: list[tuple[str, str]] = []

    await link.join(lambda state, message: heard.append((state, message)))

    assert sshd.logins == 1
    ((state, message),) = heard
    assert state == "connected"
    assert message.startswith("publickey")
    await link.aclose()


async def test_how_the_beginning_failed_is_told_to_who_joins_first_and_the_next_tries_again(sshd: Sshd) -> None:
    sshd.faults.refuse_login = True
    link = begun(sshd, Connections({}))
    with pytest.raises(AuthenticationError):
        await link.join(None)
    sshd.faults.refuse_login = False

    await link.join(None)

    assert link.alive
    await link.aclose()
    await link.aclose()


async def test_what_nobody_joined_is_closed_with_the_ways_there(sshd: Sshd) -> None:
    ways = Connections({})
    link = begun(sshd, ways)
    await link.connection()
    assert link.alive

    await ways.aclose()

    assert not link.alive


async def test_closing_does_not_wait_for_a_host_that_was_not_reached_yet(sshd: Sshd) -> None:
    ways = Connections({})
    link = begun(sshd, ways)

    await ways.aclose()

    assert not link.alive
    assert sshd.logins == 0
