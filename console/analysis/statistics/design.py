"""How a two-point measurement is laid out: lengths, order, and when there are enough requests.

::

    Design(short_tokens=32, delta_tokens=568, start=4, most=12, target=0.01, look_alpha=0.02)
    abba(pairs) -> tuple["short" | "long", …]           short long long short, for `pairs` of each
    delta_for(pilot_s, rate_tok_s, *, least=568, most=None) -> int
    look(short_s, long_s, design) -> Look(rate, wanted)  wanted: what to send next, () when it is over
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Literal

from console.analysis.statistics.decode import two_point
from console.analysis.statistics.estimate import Estimate, numbers

Arm = Literal["short", "long"]
TARGET_NOT_REACHED = "target not reached"


@dataclass(frozen=True)
class Design:
    """`start` of each arm, then one more of each until the half-width is within `target`, at most `most` of each.

    `look_alpha` is the level of every look: stopping at the first good look at 0.05 covers only 91 to 96 %, at 0.02 it
    covers 95 and more. The smallest design with an interval at 0.02 is 5 + 5 (2 of 252 orders are more extreme), so
    4 + 4 never ends by itself.
    """

    short_tokens: int = 32
    delta_tokens: int = 568
    start: int = 4
    most: int = 12
    target: float = 0.01
    look_alpha: float = 0.02

    def __post_init__(self) -> None:
        if not (0 < self.start <= self.most and self.short_tokens > 0 and self.delta_tokens > 0):
            raise ValueError("design: lengths and counts must be positive, and start at most `most`")

    @property
    def long_tokens(self) -> int:
        return self.short_tokens + self.delta_tokens


def abba(pairs: int, *, begin: Arm = "short") -> tuple[Arm, ...]:
    """The order of `pairs` requests of each arm: a drift that grows in a line favours neither."""
    first: Arm = begin
    other: Arm = "long" if begin == "short" else "short"
    order: list[Arm] = []
    for pair in range(pairs):
        order += [first, other] if pair % 2 == 0 else [other, first]
    return tuple(order)


def delta_for(pilot_s: Sequence[float], rate_tok_s: float, *, least: int = 568, most: int | None = None) -> int:
    """How many tokens apart the arms should be: 120 standard deviations of a short reply, in tokens.

    `pilot_s`: durations of equal replies, seconds; the error of the rate is about their spread over the time between
    the arms, and this makes it 1 % at p95 with 6 + 6. Raises ValueError below two durations.
    """
    spread = stdev(numbers(pilot_s, "pilot", 2))
    wanted = max(least, math.ceil(120 * spread * rate_tok_s))
    return wanted if most is None else max(1, min(wanted, most))


@dataclass(frozen=True)
class Look:
    """The rate so far, and the requests to send next, in this order; none when the measurement is over."""

    rate: Estimate
    wanted: tuple[Arm, ...]

    @property
    def over(self) -> bool:
        return not self.wanted


def look(short_s: Sequence[float], long_s: Sequence[float], design: Design | None = None) -> Look:
    """Judge what was measured so far (usable replies only). An arm that lost replies is filled up first.

    The last look's estimate carries `target not reached` when the interval is still wider than asked for.
    Raises ValueError when an arm is empty.
    """
    design = design or Design()
    rate = two_point(short_s, long_s, design.delta_tokens, confidence=1 - design.look_alpha)
    have = {"short": len(short_s), "long": len(long_s)}
    if min(have.values()) < design.start:
        return Look(rate, missing(have, design.start))
    exact = "indicative" not in rate.flags
    if exact and rate.half_width <= design.target:
        return Look(rate, ())
    if min(have.values()) >= design.most:
        return Look(rate.with_flags(TARGET_NOT_REACHED), ())
    return Look(rate, missing(have, max(have.values()) + (have["short"] == have["long"])))


def missing(have: dict[Arm | str, int], count: int) -> tuple[Arm, ...]:
    """What brings both arms to `count`, alternating from the arm whose turn it is in ABBA."""
    short, long = max(0, count - have["short"]), max(0, count - have["long"])
    order = abba(max(short, long), begin="short" if (have["short"] + have["long"]) % 4 == 0 else "long")
    wanted: list[Arm] = []
    left: dict[Arm, int] = {"short": short, "long": long}
    for arm in order:
        if left[arm]:
            left[arm] -= 1
            wanted.append(arm)
    return tuple(wanted)
