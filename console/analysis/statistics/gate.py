"""Is it worse than before? Median and p95 both, beyond the noise, and with restarts as the unit.

::

    judge(before, now, *, better, tolerance=0.0, restart_spread=None) -> Gate
        before, now: one list of a figure's values a restart, in the order measured
        better: "lower" (a latency) or "higher" (a rate)
        Gate(verdict, median: Side, tail: Side, why)      verdict: "pass" | "fail" | "inconclusive"

A better median with a worse p95 is a fail: the p95 is what the slowest users have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from console.analysis.statistics.compare import ASSUMED_RESTART_SPREAD, compare
from console.analysis.statistics.distributions import normal_quantile
from console.analysis.statistics.estimate import Estimate
from console.analysis.statistics.quantiles import quantile

Verdict = Literal["pass", "fail", "inconclusive"]
Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Side:
    """One quantile: `worse` is now / before as a share for the worse (0.05: 5 % worse), with its interval."""

    share: float
    before: float
    now: float
    worse: Estimate
    verdict: Verdict


@dataclass(frozen=True)
class Gate:
    verdict: Verdict
    median: Side
    tail: Side
    why: str


def judge(
    before: Sequence[Sequence[float]],
    now: Sequence[Sequence[float]],
    *,
    better: Better,
    tolerance: float = 0.0,
    confidence: float = 0.95,
    restart_spread: float | None = None,
) -> Gate:
    """Pass: neither is worse by more than `tolerance` (a share), and the interval says so or shows no difference.

    Two restarts or more of each: the interval is over restarts (`compare`). One of either: over order statistics of the
    requests, widened by what a restart does (`restart_spread`, else 1 %). Fail: one is worse beyond the tolerance and
    its interval. Inconclusive: an interval so wide that it would hide a loss of a tenth.
    Raises ValueError without values, or for values that are not positive.
    """
    tail_share = 0.95 if better == "lower" else 0.05
    median = _side(before, now, 0.5, better, tolerance, confidence, restart_spread)
    tail = _side(before, now, tail_share, better, tolerance, confidence, restart_spread)
    verdicts = (median.verdict, tail.verdict)
    verdict: Verdict = "fail" if "fail" in verdicts else "inconclusive" if "inconclusive" in verdicts else "pass"
    return Gate(verdict, median, tail, _why(median, tail, verdict))


# What an interval may hide and still be called a pass.
HIDDEN = 0.10


def _side(
    before: Sequence[Sequence[float]],
    now: Sequence[Sequence[float]],
    share: float,
    better: Better,
    tolerance: float,
    confidence: float,
    restart_spread: float | None,
) -> Side:
    if not before or not now or not all(before) or not all(now):
        raise ValueError("gate: no values on one side")
    a, b = ([quantile(group, share).value for group in side] for side in (before, now))
    ratio = (
        compare([[value] for value in a], [[value] for value in b], confidence=confidence).ratio
        if min(len(a), len(b)) >= 2
        else _one_restart(before, now, share, confidence, restart_spread)
    )
    if better == "higher":
        low, high = 1 / ratio.high if ratio.high else math.inf, 1 / ratio.low if ratio.low else math.inf
        ratio = Estimate(1 / ratio.value, low, high, confidence, n=ratio.n, method=ratio.method, flags=ratio.flags)
    worse = Estimate(
        ratio.value - 1, ratio.low - 1, ratio.high - 1, confidence, n=ratio.n, method=ratio.method, flags=ratio.flags
    )
    if worse.low > tolerance:
        verdict: Verdict = "fail"
    elif worse.high > tolerance + HIDDEN:
        verdict = "inconclusive"
    else:
        verdict = "pass"
    return Side(share, _middle(a), _middle(b), worse, verdict)


def _one_restart(
    before: Sequence[Sequence[float]],
    now: Sequence[Sequence[float]],
    share: float,
    confidence: float,
    restart_spread: float | None,
) -> Estimate:
    """Intervals of both quantiles as errors of their logarithms, and a restart's own spread on each side."""
    a, b = ([value for group in side for value in group] for side in (before, now))
    if min(*a, *b) <= 0:
        raise ValueError("gate: figures must be positive")
    z = normal_quantile((1 + confidence) / 2)
    spread = ASSUMED_RESTART_SPREAD if restart_spread is None else restart_spread
    variance = 2 * spread**2
    flags: list[str] = []
    for values in (a, b):
        found = quantile(values, share, confidence=confidence)
        # An open side is as far away as the other one; the flag says how few values there were.
        ends = [abs(math.log(end / found.value)) for end in (found.low, found.high) if 0 < end < math.inf]
        variance += (max(ends, default=math.inf) / z) ** 2
        flags += found.flags
    middle = math.log(quantile(b, share).value / quantile(a, share).value)
    reach = z * math.sqrt(variance)
    low, high = math.exp(middle - reach), math.exp(middle + reach) if reach < 700 else math.inf
    return Estimate(
        math.exp(middle),
        low,
        high,
        confidence,
        n=len(a) + len(b),
        method="one_restart",
        flags=tuple(dict.fromkeys(flags)),
    )


def _middle(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _why(median: Side, tail: Side, verdict: Verdict) -> str:
    def said(name: str, side: Side) -> str:
        way = "worse" if side.worse.value > 0 else "better"
        return f"{name} {abs(side.worse.value):.1%} {way} [{side.worse.low:+.1%}, {side.worse.high:+.1%}]" + (
            ", a loss" if side.verdict == "fail" else ", cannot be told" if side.verdict == "inconclusive" else ""
        )

    tail_name = "p95" if tail.share > 0.5 else "p5"
    return f"{said('median', median)}; {said(tail_name, tail)}"
