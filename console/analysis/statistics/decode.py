"""Decode rate from replies of two lengths to one prompt: what both share (queue, prefill, path) cancels.

::

    two_point(short_s, long_s, delta_tokens, *, confidence=0.95) -> Estimate     tokens/s
    naive_rate(tokens, seconds) -> float                                         tokens/s of one reply, all included
    naive_pair(short_s, long_s, delta_tokens) -> float                           of the first pair alone
    linearity(lengths, seconds) -> Linearity                                     are four lengths on one line?

How many requests, in which order and how long: `design`. Steps and accept_length: `acceptance`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from console.analysis.statistics.distributions import t_quantile
from console.analysis.statistics.estimate import Estimate, numbers
from console.analysis.statistics.shift import shift


def two_point(
    short_s: Sequence[float], long_s: Sequence[float], delta_tokens: float, *, confidence: float = 0.95
) -> Estimate:
    """Decode rate, tokens/s, from the durations of short and long replies, seconds, `delta_tokens` apart.

    The rate is delta_tokens / D, D the Hodges–Lehmann shift; its interval is D's, turned over. `high` is inf where D
    may be zero, and a D that is not positive gives nan with the flag `no slope`. Not used, because an outlier moves
    them: the mean of the rates of pairs (Jensen), minimum less minimum, least squares.
    Raises ValueError on an empty arm or `delta_tokens` ≤ 0.
    """
    if delta_tokens <= 0:
        raise ValueError("delta_tokens: the long replies must be longer than the short ones")
    duration = shift(short_s, long_s, confidence=confidence)
    return inverse(duration, delta_tokens, method="two_point")


def inverse(duration: Estimate, amount: float, *, method: str) -> Estimate:
    """amount / duration as an estimate: the interval turned over, open where the duration may be zero or less."""
    if duration.value <= 0:
        return replace(duration, value=math.nan, low=0.0, high=math.inf, method=method).with_flags("no slope")
    low = amount / duration.high if duration.high > 0 else 0.0
    high = amount / duration.low if duration.low > 0 else math.inf
    return replace(duration, value=amount / duration.value, low=low, high=high, method=method)


def naive_rate(tokens: float, seconds: float) -> float:
    """Tokens over the whole duration of a reply, as most tools print it: prefill, queue and path are in it."""
    return tokens / seconds if seconds > 0 else math.nan


def naive_pair(short_s: Sequence[float], long_s: Sequence[float], delta_tokens: float) -> float:
    """Two-point of the first short and the first long reply alone: shown beside, to tell what repeating is worth."""
    span = long_s[0] - short_s[0]
    return delta_tokens / span if span > 0 else math.nan


@dataclass(frozen=True)
class Linearity:
    """Whether the duration grows in a line with the length; `why` says what speaks against it."""

    linear: bool
    rate_tok_s: float
    curvature_t: float
    why: tuple[str, ...] = ()


def linearity(
    lengths: Sequence[float], seconds: Sequence[float], *, two_point_tok_s: float | None = None, limit_t: float = 3.0
) -> Linearity:
    """Check the two-point's assumption with replies of at least three different lengths.

    Not linear when the quadratic term is |t| > `limit_t`, or when the Theil–Sen slope over all lengths differs from
    the two-point's by more than 2 %. As an estimator, more lengths than two lose a quarter of the precision.
    Raises ValueError below three lengths or four replies.
    """
    import numpy as np

    x = np.asarray(numbers(lengths, "lengths", 4))
    y = np.asarray(numbers(seconds, "seconds", len(x)))
    if len(set(x.tolist())) < 3:
        raise ValueError("linearity: at least three lengths are needed")
    slope = theil_sen(x.tolist(), y.tolist())[1]
    scaled = (x - x.mean()) / (x.max() - x.min())
    design = np.stack([np.ones_like(scaled), scaled, scaled**2], axis=1)
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    rest = y - design @ coefficients
    degrees = len(x) - 3
    spread = math.sqrt(float(rest @ rest) / degrees) if degrees else 0.0
    error = spread * math.sqrt(float(np.linalg.inv(design.T @ design)[2, 2]))
    tiny = 1e-9 * float(np.abs(y).max())
    curvature = float(coefficients[2]) / max(error, tiny) if abs(coefficients[2]) > tiny else 0.0
    # With few replies a t of 3 is not rare: then the limit is what t allows once in 370, as 3 is for many.
    limit = max(limit_t, t_quantile(1 - 0.00135, degrees)) if degrees else math.inf
    why = []
    if abs(curvature) > limit:
        why.append("curved")
    rate = 1 / slope if slope > 0 else math.nan
    if two_point_tok_s is not None and not abs(rate / two_point_tok_s - 1) <= 0.02:
        why.append("slopes differ")
    return Linearity(not why, rate, curvature, tuple(why))


def theil_sen(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Intercept and slope of the median of all pairwise slopes.

    Source: Sen: Estimates of the regression coefficient based on Kendall's tau, JASA 63, 1968.
    """
    slopes = [(y[j] - y[i]) / (x[j] - x[i]) for i in range(len(x)) for j in range(i + 1, len(x)) if x[j] != x[i]]
    if not slopes:
        raise ValueError("theil_sen: all abscissas are the same")
    slope = median(slopes)
    return median(b - slope * a for a, b in zip(x, y, strict=True)), slope
