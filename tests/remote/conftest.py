"""A host reached over a real SSH connection, in the test's own process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from console.clock import SystemClock
from console.remote.session import Remote, connect_reader
from console.secrets import Redactor
from tests.remote.sshd import Sshd, running

Connect = Callable[..., Awaitable[Remote]]


@pytest.fixture
async def sshd(tmp_path: Path) -> AsyncIterator[Sshd]:
    async with running(tmp_path / "host") as server:
        yield server


@pytest.fixture
async def connect(sshd: Sshd) -> AsyncIterator[Connect]:
    """`await connect()` logs in; what was opened is closed after the test."""
    opened: list[Remote] = []

    async def login(**more: str) -> Remote:
        target = sshd.target(**more)
        remote = (await connect_reader(target, redactor=Redactor(), clock=SystemClock(), environment={})).writer()
        opened.append(remote)
        return remote

    yield login
    for remote in opened:
        await remote.aclose()


@pytest.fixture
async def remote(connect: Connect) -> Remote:
    return await connect()
