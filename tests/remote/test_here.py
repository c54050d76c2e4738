"""A command on this machine: its end, its words, and that nothing of it goes on when nobody waits for it."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest

from console.remote.here import TIMED_OUT, run_here


async def test_it_says_how_it_ended_and_what_it_printed_last() -> None:
    said = await run_here('echo "$WAY"; echo odd >&2; exit 3', 30.0, {"WAY": "http://127.0.0.1:1"})
    assert (said.status, said.output) == (3, b"http://127.0.0.1:1\nodd\n")
    flood = await run_here("head -c 300000 /dev/zero | tr '\\0' x; echo 0.5", 30.0)
    assert len(flood.output) <= 65536
    assert flood.output.endswith(b"x0.5\n")


async def test_a_late_one_is_ended_with_what_it_started(tmp_path: Path) -> None:
    said = await run_here(f"sleep 600 & echo $! >{tmp_path}/pid; wait", 0.5)
    assert said.status == TIMED_OUT
    await gone(int((tmp_path / "pid").read_text()))


async def test_a_stop_ends_it_at_once(tmp_path: Path) -> None:
    task = asyncio.create_task(
        run_here(f"sleep 600 & echo $! >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; wait", 60.0)
    )
    for _ in range(3000):
        if (tmp_path / "pid").exists():
            break
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone(int((tmp_path / "pid").read_text()))


async def gone(pid: int) -> None:
    """Whoever adopts an orphan buries it soon."""
    with suppress(ProcessLookupError):
        for _ in range(1000):
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
            await asyncio.sleep(0.01)
        pytest.fail(f"process {pid} goes on")
