"""How much longer one group of durations is than another: Hodges–Lehmann shift with its exact interval.

::

    shift(short, long, *, confidence=0.95) -> Estimate      same unit as the values, long minus short
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean, median, variance

from console.analysis.statistics.distributions import mann_whitney_rank, t_quantile
from console.analysis.statistics.estimate import Estimate, numbers

EXACT = "hodges_lehmann"
INDICATIVE = "welch"
MANY_DELAYED = "many delayed"
# Share of delayed values from which the median of differences gives way (it breaks at 29 %), and how late "delayed" is:
# so many times the spread of the values that were not.
DELAYED_SHARE = 0.2
DELAYED_SPREADS = 8.0
LEAST_FOR_QUARTILE = 8


def shift(short: Sequence[float], long: Sequence[float], *, confidence: float = 0.95) -> Estimate:
    """The median of all differences long - short, with the interval that inverts the Mann–Whitney test.

    Where the samples are too small for an exact interval at this level (below 4 + 4 at 0.95), the interval is Welch's
    and the flag `indicative`; a single pair has an open interval and the flag `single pair`.
    Where a fifth or more of the values are delayed (a lost packet, another client: always later, never sooner), the
    value is the difference of the lower quartiles instead, in the same interval, with the flag `many delayed`.
    Source: Hodges, Lehmann: Estimates of location based on rank tests, Ann. Math. Stat. 34, 1963.
    Raises ValueError when a side is empty or holds something that is not a finite number.
    """
    short, long = numbers(short, "short arm"), numbers(long, "long arm")
    differences = sorted(b - a for a in short for b in long)
    value = median(differences)
    n = len(short) + len(long)
    rank = mann_whitney_rank(len(short), len(long), round(1 - confidence, 12))
    if rank:
        low, high = differences[rank - 1], differences[-rank]
        if min(len(short), len(long)) >= LEAST_FOR_QUARTILE and delayed(short, long) >= DELAYED_SHARE:
            value = quartile(long) - quartile(short)
            low, high = min(low, value), max(high, value)
            return Estimate(value, low, high, confidence, n=n, method="lower_quartiles", flags=(MANY_DELAYED,))
        return Estimate(value, low, high, confidence, n=n, method=EXACT)
    if min(len(short), len(long)) < 2:
        return Estimate(value, -math.inf, math.inf, confidence, n=n, method=EXACT, flags=("single pair",))
    low, high = welch(short, long, confidence)
    return Estimate(value, min(low, value), max(high, value), confidence, n=n, method=INDICATIVE, flags=("indicative",))


def quartile(values: Sequence[float]) -> float:
    """The lower one, linear between order statistics."""
    ordered = sorted(values)
    place = (len(ordered) - 1) / 4
    below = math.floor(place)
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])


def delayed(*arms: Sequence[float]) -> float:
    """Share of values far above their arm's lower quartile, in units of the spread below it (the larger arm's)."""
    bases = [quartile(arm) for arm in arms]
    spread = max(base - min(arm) for base, arm in zip(bases, arms, strict=True))
    late = [value > base + DELAYED_SPREADS * spread for base, arm in zip(bases, arms, strict=True) for value in arm]
    return sum(late) / len(late)


def welch(short: Sequence[float], long: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Welch's interval of the difference of means, long - short; each side needs two values."""
    parts = [variance(side) / len(side) for side in (short, long)]
    middle = mean(long) - mean(short)
    if sum(parts) == 0:
        return middle, middle
    degrees = sum(parts) ** 2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, (short, long), strict=True))
    reach = t_quantile((1 + confidence) / 2, degrees) * math.sqrt(sum(parts))
    return middle - reach, middle + reach
