"""Labs for the tests of this folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncssh
import pytest

from console.lab.lab import Lab


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    """A lab of a test's own, to be changed at will."""
    async with await Lab.start(tmp_path / "lab", load_s=2.0, speed=50.0) as running:
        yield running


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One lab for a file's tests, which leave it as it was."""
    running = asyncio.run(Lab.start(tmp_path_factory.mktemp("shared") / "lab", load_s=2.0, speed=50.0))
    yield running
    running.stop_now()


@pytest.fixture
async def ssh(shared_lab: Lab) -> AsyncIterator[asyncssh.SSHClientConnection]:
    async with shared_lab.connect() as connection:
        yield connection
