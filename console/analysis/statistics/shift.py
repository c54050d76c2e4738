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


def shift(short: Sequence[float], long: Sequence[float], *, confidence: float = 0.95) -> Estimate:
    """The median of all differences long - short, with the interval that inverts the Mann–Whitney test.

    Where the samples are too small for an exact interval at this level (below 4 + 4 at 0.95), the interval is Welch's
    and the flag `indicative`; a single pair has an open interval and the flag `single pair`.
    Source: Hodges, Lehmann: Estimates of location based on rank tests, Ann. Math. Stat. 34, 1963.
    Raises ValueError when a side is empty or holds something that is not a finite number.
    """
    short, long = numbers(short, "short arm"), numbers(long, "long arm")
    differences = sorted(b - a for a in short for b in long)
    value = median(differences)
    n = len(short) + len(long)
    rank = mann_whitney_rank(len(short), len(long), round(1 - confidence, 12))
    if rank:
        return Estimate(value, differences[rank - 1], differences[-rank], confidence, n=n, method=EXACT)
    if min(len(short), len(long)) < 2:
        return Estimate(value, -math.inf, math.inf, confidence, n=n, method=EXACT, flags=("single pair",))
    low, high = welch(short, long, confidence)
    return Estimate(value, min(low, value), max(high, value), confidence, n=n, method=INDICATIVE, flags=("indicative",))


def welch(short: Sequence[float], long: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Welch's interval of the difference of means, long - short; each side needs two values."""
    parts = [variance(side) / len(side) for side in (short, long)]
    middle = mean(long) - mean(short)
    if sum(parts) == 0:
        return middle, middle
    degrees = sum(parts) ** 2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, (short, long), strict=True))
    reach = t_quantile((1 + confidence) / 2, degrees) * math.sqrt(sum(parts))
    return middle - reach, middle + reach
