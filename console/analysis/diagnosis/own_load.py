"""What a log tells of users alone: the lines of our own measurements are left out, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.analysis.diagnosis.window import Said

# A batch line tells of the time before it, and two clocks are never quite one; seconds on both sides.
BESIDE_S = 5.0
SAID = ("decode", "prefill")


@dataclass(frozen=True)
class Users:
    """`left_out`: batch lines of the time in which we measured."""

    lines: tuple[Said, ...]
    left_out: int = 0


def of_users(lines: Sequence[Said], ours: Sequence[tuple[float, float]], ahead_s: float = 0.0) -> Users:
    """Lines of requests outside the spans `ours` (seconds since the epoch, by our clock).

    `ahead_s`: how far the host's clock is ahead. Lines that tell of no batch stay, so that starts are seen.
    """
    spans = [(began + ahead_s - BESIDE_S, ended + ahead_s + BESIDE_S) for began, ended in ours]
    kept = tuple(
        one
        for one in lines
        if one.line.kind not in SAID or not any(began <= one.at_s <= ended for began, ended in spans)
    )
    return Users(kept, len(lines) - len(kept))
