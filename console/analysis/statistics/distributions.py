"""Quantiles and exact null distributions that the estimators share; the only file here that loads scipy.

::

    t_quantile(probability, degrees) -> float          Student
    t_tail(statistic, degrees) -> float                two-sided p
    binomial_cdf(successes, trials, share) -> float
    mann_whitney_rank(m, k, alpha) -> int              which ordered difference bounds the shift; 0: none does
    mann_whitney_below(m, k, rank) -> float            P(U < rank) under the null
"""

from __future__ import annotations

import math
from functools import lru_cache

EXACT_PAIRS = 3600  # up to 60 + 60; above, the normal approximation is right to the fourth digit


def t_quantile(probability: float, degrees: float) -> float:
    """Quantile of Student's t; inf without degrees of freedom."""
    if degrees <= 0:
        return math.inf
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def t_tail(statistic: float, degrees: float) -> float:
    """P(|T| ≥ |statistic|); 1 without degrees of freedom."""
    if degrees <= 0 or math.isnan(statistic):
        return 1.0
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(statistic)))


def binomial_cdf(successes: int, trials: int, share: float) -> float:
    """P(X ≤ successes) of a binomial count."""
    if successes < 0:
        return 0.0
    if successes >= trials:
        return 1.0
    from scipy.special import bdtr

    return float(bdtr(successes, trials, share))


def normal_quantile(probability: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(probability))


@lru_cache(maxsize=256)
def mann_whitney_counts(m: int, k: int) -> tuple[int, ...]:
    """How many of the C(m+k, m) orders give U = 0, 1, … m·k: the coefficients of the Gaussian binomial.

    Mann, Whitney: On a test of whether one of two random variables is stochastically larger, Ann. Math. Stat. 18, 1947.
    """
    counts = [1] + [0] * (m * k)
    for i in range(1, m + 1):
        for u in range(m * k, k + i - 1, -1):  # times 1 - q^(k+i)
            counts[u] -= counts[u - k - i]
        for u in range(i, m * k + 1):  # divided by 1 - q^i
            counts[u] += counts[u - i]
    return tuple(counts)


def mann_whitney_below(m: int, k: int, rank: int) -> float:
    """P(U < rank) when both samples come from one continuous distribution."""
    if m * k > EXACT_PAIRS:
        from scipy.special import ndtr

        return float(ndtr((rank - 0.5 - m * k / 2) / math.sqrt(m * k * (m + k + 1) / 12)))
    counts = mann_whitney_counts(m, k)
    return sum(counts[: max(rank, 0)]) / math.comb(m + k, m)


@lru_cache(maxsize=1024)
def mann_whitney_rank(m: int, k: int, alpha: float) -> int:
    """The largest rank with P(U < rank) ≤ alpha/2: the interval runs from that ordered difference to its mirror.

    0 when the samples are too small for any interval at this level.
    """
    if m * k > EXACT_PAIRS:
        spread = math.sqrt(m * k * (m + k + 1) / 12)
        return max(0, math.floor(m * k / 2 + 0.5 + normal_quantile(alpha / 2) * spread))
    allowed = alpha / 2 * math.comb(m + k, m) * (1 + 1e-12)
    below = 0
    for rank, count in enumerate(mann_whitney_counts(m, k)):
        below += count
        if below > allowed:
            return rank
    return m * k
