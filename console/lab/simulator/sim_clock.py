"""Simulated time: runs `speed` times as fast as the wall's."""

from __future__ import annotations

import asyncio
import sys
import time


class SimClock:
    """Seconds since the start, as a machine that is not simulated would count them."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self.started = time.monotonic()

    def now(self) -> float:
        return (time.monotonic() - self.started) * self.speed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0) / self.speed)

    async def sleep_until(self, moment: float) -> None:
        await self.sleep(moment - self.now())


def log(text: str, rank: str = "") -> None:
    """One line on stderr in the engine's form; `rank` is such as ` TP0`, the main process has none."""
    sys.stderr.write(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}{rank}] {text}\n")
    sys.stderr.flush()


def log_raw(text: str) -> None:
    """Text without the prefix: progress bars, tracebacks."""
    sys.stderr.write(text)
    sys.stderr.flush()
