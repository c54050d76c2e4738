"""Whether what a session sent before is still found cached as the session grows, or computed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Fewer requests in a third say nothing of it, nor do lengths that are all alike.
LEAST_IN_A_THIRD = 8
LEAST_RATIO = 2.0
LOST = 0.20  # of the share found again, from the shortest third to the longest
STEPPED_BACK = 0.05  # the middle third may be so much off the way down


@dataclass(frozen=True)
class Found:
    """One request: tokens of its prompt that were sent before, and those that the engine had kept."""

    known: int
    cached: int


@dataclass(frozen=True)
class Third:
    """Requests of like length: from the shortest to the longest known beginning, and the share found of them."""

    least: int
    most: int
    share: float
    again: int  # tokens computed again


@dataclass(frozen=True)
class Falling:
    """The share found falls with length: `evidence` in one clause."""

    short: Third
    long: Third
    again: int

    @property
    def evidence(self) -> str:
        return (
            f"of what sessions sent before, {self.short.share:.0%} is found up to {self.short.most:,} tokens and "
            f"{self.long.share:.0%} from {self.long.least:,} on: {self.again:,} tokens computed again"
        )


def falling(requests: Sequence[Found]) -> Falling | None:
    """None where the share does not fall with length, or too little is known to say so."""
    told = sorted((one for one in requests if one.known > 0), key=lambda one: one.known)
    size = len(told) // 3
    if size < LEAST_IN_A_THIRD:
        return None
    short, middle, long = (third(told[:size]), third(told[size:-size]), third(told[-size:]))
    if long.least < LEAST_RATIO * short.most or short.share - long.share <= LOST:
        return None
    if not long.share - STEPPED_BACK <= middle.share <= short.share + STEPPED_BACK:
        return None
    return Falling(short, long, short.again + middle.again + long.again)


def third(requests: Sequence[Found]) -> Third:
    known = sum(one.known for one in requests)
    found = sum(min(one.known, one.cached) for one in requests)
    return Third(requests[0].known, requests[-1].known, found / known, known - found)
