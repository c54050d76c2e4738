"""How fast and how warm the GPUs are in the middle of an answer: a rate under another clock is another rate."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from console.remote.session import Reader
from console.untrusted import decode

LOOK_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Clocks:
    """Median clock of the GPUs, the hottest of them, and what they draw together; None: not said."""

    sm_mhz: float
    temperature_c: float | None = None
    power_w: float | None = None


async def look_at_clocks(reader: Reader) -> Clocks | None:
    """One cheap script on the host; nothing is asked of the engine. None without GPUs. Raises ConnectError."""
    output = await reader.look("look_clocks.sh", timeout_s=LOOK_TIMEOUT_S)
    return parse_clocks(output.sections.get("clocks", b""))


def parse_clocks(section: bytes) -> Clocks | None:
    """Lines of `clock, temperature, power` as nvidia-smi writes them; `[N/A]` is not said."""
    rows = [[number(word) for word in line.split(",")] for line in decode(section).splitlines()]
    rows = [row for row in rows if len(row) == 3]
    clocks, warm, power = ([row[at] for row in rows if row[at] is not None] for at in range(3))
    known = [clock for clock in clocks if clock]
    if not known:
        return None
    return Clocks(
        median(known),
        max((degrees for degrees in warm if degrees is not None), default=None),
        sum(watts for watts in power if watts is not None) if power else None,
    )


def number(word: str) -> float | None:
    text = word.strip()
    return float(text) if text.replace(".", "", 1).isdigit() else None
