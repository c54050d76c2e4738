"""Quantiles of latencies with intervals from order statistics: no shape of the distribution is assumed.

::

    quantile(values, share, *, confidence=0.95) -> Estimate     flag `max of N` when N is too small for the share
    least_for(share, *, confidence=0.95) -> int                 how many values an interval of this quantile needs
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from console.analysis.statistics.distributions import binomial_cdf
from console.analysis.statistics.estimate import Estimate, numbers

METHOD = "order_statistic"


def quantile(values: Sequence[float], share: float, *, confidence: float = 0.95) -> Estimate:
    """The `share` quantile (0.95 for p95), linear between order statistics, with the binomial interval.

    With fewer values than `least_for` the interval is open above and the flag says what the number really is: a p99
    of 40 values is their maximum. Source: David, Nagaraja, Order Statistics, 3rd ed., 7.1.
    Raises ValueError without values or for a share outside (0, 1).
    """
    if not 0 < share < 1:
        raise ValueError("quantile: the share must be between 0 and 1")
    ordered = sorted(numbers(values, "quantile"))
    n = len(ordered)
    place = share * (n - 1)
    below = math.floor(place)
    value = ordered[below] + (place - below) * (ordered[min(below + 1, n - 1)] - ordered[below])
    low, high = ranks(n, share, confidence)
    bottom = ordered[low - 1] if low >= 1 else -math.inf
    top = ordered[high - 1] if high <= n else math.inf
    flags: tuple[str, ...] = ()
    if high > n and share > 0.5:
        flags = (f"max of {n}",)
    elif low < 1 and share < 0.5:
        flags = (f"min of {n}",)
    elif high > n or low < 1:
        flags = (f"only {n}",)
    return Estimate(value, bottom, top, confidence, n=n, method=METHOD, flags=flags)


def ranks(n: int, share: float, confidence: float) -> tuple[int, int]:
    """1-based ranks l, u with P(X_l ≤ quantile ≤ X_u) ≥ confidence; 0 or n + 1 where a side cannot be bounded.

    X_l ≤ q exactly when at least l values are ≤ q, X_u ≥ q when fewer than u are < q.
    """
    tail = (1 - confidence) / 2
    low = 0
    while low < n and binomial_cdf(low, n, share) <= tail:
        low += 1
    high = n + 1
    while high > 1 and 1 - binomial_cdf(high - 2, n, share) <= tail:
        high -= 1
    return low, high


def least_for(share: float, *, confidence: float = 0.95) -> int:
    """The smallest number of values for which `quantile` is bounded on both sides: 72 for p95, 368 for p99."""
    extreme = max(share, 1 - share)
    return math.ceil(math.log((1 - confidence) / 2) / math.log(extreme))
