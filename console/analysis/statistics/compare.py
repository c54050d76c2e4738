"""Is B different from A, when every restart of a server is another draw? Comparison of restarts, not of requests.

::

    compare(a, b, *, confidence=0.95, restart_spread=None) -> Comparison
        a, b: one list of rates (or of any positive figure) a restart, in the order they were measured;
              [[r, r, r], [r, r]] is two restarts
        Comparison(ratio: Estimate, verdict, restarts, detectable, why)
        verdict: "changed" | "suggestive" | "no difference shown"
        ratio: B / A; 1.05 is 5 % more
    restart_spread(groups) -> Spread(within, between)             both as shares, from a ledger of restarts
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev, variance
from typing import Literal

from console.analysis.statistics.distributions import normal_quantile, t_quantile
from console.analysis.statistics.estimate import Estimate, numbers

Verdict = Literal["changed", "suggestive", "no difference shown"]
ASSUMED_RESTART_SPREAD = 0.01


@dataclass(frozen=True)
class Comparison:
    """B / A with its interval; `detectable` is the smallest change this many restarts would show 4 times in 5."""

    ratio: Estimate
    verdict: Verdict
    restarts: int
    detectable: float
    why: str

    @property
    def change(self) -> float:
        """As a share: 0.05 is 5 % more in B."""
        return self.ratio.value - 1


@dataclass(frozen=True)
class Spread:
    """Standard deviation of the logarithm, that is about a share: of one figure within a restart, and of restarts."""

    within: float
    between: float


def compare(
    a: Sequence[Sequence[float]],
    b: Sequence[Sequence[float]],
    *,
    confidence: float = 0.95,
    restart_spread: float | None = None,
) -> Comparison:
    """Compare two configurations over restarts.

    As many restarts of each, two or more: they are pairs in the order measured (ABBA blocks), d is the mean difference
    of log means and its interval t(R - 1)·s/√R. Unequal numbers: Welch's interval over restarts. One restart on a side:
    requests cannot say what a restart does, so the spread between restarts is `restart_spread` (from a ledger, else
    1 %) and the verdict is at most "suggestive".
    Raises ValueError when a side is empty or a figure is not positive.
    """
    left, right = logs(a, "A"), logs(b, "B")
    level = (1 + confidence) / 2
    means_a, means_b = [mean(group) for group in left], [mean(group) for group in right]
    middle = mean(means_b) - mean(means_a)
    restarts = min(len(left), len(right))
    if restarts >= 2:
        if len(left) == len(right):
            error = stdev([y - x for x, y in zip(means_a, means_b, strict=True)]) / math.sqrt(restarts)
            degrees = float(restarts - 1)
            method = "paired_restarts"
        else:
            parts = [variance(means) / len(means) for means in (means_a, means_b)]
            error = math.sqrt(sum(parts))
            degrees = welch_degrees(parts, (len(means_a), len(means_b)))
            method = "welch_restarts"
        reach = t_quantile(level, degrees) * error if error else 0.0
        changed = abs(middle) > reach
        verdict: Verdict = "changed" if changed else "no difference shown"
        why = f"{restarts} restarts of each"
        power = t_quantile(0.8, degrees)
    else:
        between = ASSUMED_RESTART_SPREAD if restart_spread is None else restart_spread
        within = pooled(left + right)
        error = math.sqrt(
            sum(within**2 / sum(len(group) for group in side) + between**2 / len(side) for side in (left, right))
        )
        reach = normal_quantile(level) * error
        verdict = "suggestive" if abs(middle) > reach else "no difference shown"
        why = f"one restart: {between:.1%} between restarts is {'assumed' if restart_spread is None else 'known'}"
        method = "one_restart"
        power = normal_quantile(0.8)
    critical = reach / error if error else 0.0
    ratio = Estimate(
        math.exp(middle),
        math.exp(middle - reach),
        math.exp(middle + reach),
        confidence,
        n=sum(len(group) for group in (*a, *b)),
        method=method,
    )
    return Comparison(ratio, verdict, restarts, math.expm1((critical + power) * error), why)


def logs(groups: Sequence[Sequence[float]], what: str) -> list[list[float]]:
    found = [numbers(group, what) for group in groups]
    if not found:
        raise ValueError(f"{what}: no restart")
    if any(value <= 0 for group in found for value in group):
        raise ValueError(f"{what}: figures must be positive")
    return [[math.log(value) for value in group] for group in found]


def pooled(groups: Sequence[Sequence[float]]) -> float:
    """Standard deviation within groups; 0 when none has two values."""
    degrees = sum(len(group) - 1 for group in groups)
    if not degrees:
        return 0.0
    return math.sqrt(sum(variance(group) * (len(group) - 1) for group in groups if len(group) > 1) / degrees)


def welch_degrees(parts: Sequence[float], sizes: Sequence[int]) -> float:
    if sum(parts) == 0:
        return float(sum(sizes) - 2)
    return sum(parts) ** 2 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))


def restart_spread(groups: Sequence[Sequence[float]]) -> Spread:
    """Within and between restarts of one configuration, from one-way analysis of variance of the logarithms.

    Raises ValueError below two restarts.
    """
    values = logs(groups, "restarts")
    if len(values) < 2:
        raise ValueError("restarts: two are needed to see what a restart does")
    within = pooled(values)
    # The harmonic mean is the size that makes the variance of unequal groups' means right.
    size = len(values) / sum(1 / len(group) for group in values)
    between = variance([mean(group) for group in values]) - within**2 / size
    return Spread(within, math.sqrt(max(0.0, between)))
