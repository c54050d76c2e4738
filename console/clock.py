"""Time as an argument, so that tests and a fast lab can pass their own."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the program may know of time; `sleep` is the only way to wait."""

    def now(self) -> datetime:
        """Wall time, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        ...

    async def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True)
class SystemClock:
    """The machine's clock. `speed` > 1 is for simulated hosts: durations are measured as if the lab ran at 1×."""

    speed: float = 1.0

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic() * self.speed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)


def stamp(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds, as events carry it: `2026-01-02T03:04:05.678Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid(moment: datetime, randomness: bytes) -> str:
    """A sortable id: 48 bits of milliseconds, 80 bits of `randomness` (10 bytes), 26 Crockford base-32 digits.

    Format: github.com/ulid/spec.
    """
    if len(randomness) != 10:
        raise ValueError("ulid needs 10 random bytes")
    number = (int(moment.timestamp() * 1000) << 80) | int.from_bytes(randomness, "big")
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))
