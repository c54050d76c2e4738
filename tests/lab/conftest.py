"""Labs for the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import asyncssh
import pytest

from console.lab.lab import Lab


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    async with await Lab.start(tmp_path / "lab", load_s=2.0, speed=50.0) as running:
        yield running


@pytest.fixture
async def ssh(lab: Lab) -> AsyncIterator[asyncssh.SSHClientConnection]:
    async with lab.connect() as connection:
        yield connection
