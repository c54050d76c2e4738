"""Where a series of findings of one configuration changed its level, and whether the newest still belongs to it.

::

    trend(values, *, confidence=0.95) -> Trend(changes, newest, expected)
        changes: tuple[ChangePoint(index, before, after, change, p)]    index: the first value of the new level
        newest: "as before" | "outside" | "too few"
        expected: Estimate of a further value (a prediction interval) since the last change
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Literal

from console.analysis.statistics.distributions import t_quantile, t_tail
from console.analysis.statistics.estimate import Estimate, numbers

LEAST_POINTS = 10
LEAST_SIDE = 3
ALPHA = 0.001
LEAST_CHANGE = 0.02


@dataclass(frozen=True)
class ChangePoint:
    """`index` is where the new level begins; `change` is after / before - 1, `p` Student's of the two levels."""

    index: int
    before: float
    after: float
    change: float
    p: float


@dataclass(frozen=True)
class Trend:
    """`expected` is where a further value of the present level would lie; the newest was not used for its own."""

    changes: tuple[ChangePoint, ...]
    newest: Literal["as before", "outside", "too few"]
    expected: Estimate | None


def trend(values: Sequence[float], *, confidence: float = 0.95) -> Trend:
    """Judge a series in order of time; the same series always gives the same answer.

    From ten values on, changes of level: E-divisive splits, kept when Student's t says p < 0.001 and the level moved by
    2 % or more. Always, the newest against the t prediction interval of the values before it since the last change.
    Sources: Matteson, James, JASA 109, 2014; Fleming et al., Hunter, ICPE 2023.
    """
    series = numbers(values, "trend", 0)
    changes = change_points(series) if len(series) >= LEAST_POINTS else ()
    begin = changes[-1].index if changes else 0
    level = series[begin:]
    if len(level) < 3:
        return Trend(changes, "too few", None)
    expected = prediction(level[:-1], confidence)
    return Trend(changes, "as before" if expected.covers(level[-1]) else "outside", expected)


def prediction(values: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Where the next value lies if nothing changed: mean ± t(n-1)·s·√(1 + 1/n). Needs two values."""
    n = len(numbers(values, "prediction", 2))
    reach = t_quantile((1 + confidence) / 2, n - 1) * stdev(values) * math.sqrt(1 + 1 / n)
    return Estimate(mean(values), mean(values) - reach, mean(values) + reach, confidence, "prediction", n, "t")


def change_points(series: Sequence[float]) -> tuple[ChangePoint, ...]:
    """Split where the energy distance is largest, as long as the two levels differ; then keep what still differs."""
    borders = [0, len(series)]
    waiting = [(0, len(series))]
    while waiting:
        begin, end = waiting.pop()
        place = begin + best_split(series[begin:end])
        if place > begin and differ(series[begin:place], series[place:end]) is not None:
            borders.append(place)
            waiting += [(begin, place), (place, end)]
    borders.sort()
    # A later split changes the neighbours of an earlier one: the weakest that no longer holds goes, one at a time.
    while True:
        found = [describe(series, *triple) for triple in zip(borders, borders[1:], borders[2:], strict=False)]
        weak = [point for point in found if point.p >= ALPHA or abs(point.change) < LEAST_CHANGE]
        if not weak:
            return tuple(found)
        borders.remove(max(weak, key=lambda point: point.p).index)


def describe(series: Sequence[float], begin: int, place: int, end: int) -> ChangePoint:
    left, right = series[begin:place], series[place:end]
    before, after = mean(left), mean(right)
    return ChangePoint(place, before, after, after / before - 1 if before else math.inf, student(left, right))


def differ(left: Sequence[float], right: Sequence[float]) -> float | None:
    """p where two levels differ by enough and surely enough, else None."""
    before, p = mean(left), student(left, right)
    large = before == 0 or abs(mean(right) / before - 1) >= LEAST_CHANGE
    return p if large and p < ALPHA else None


def student(left: Sequence[float], right: Sequence[float]) -> float:
    """Two-sided p of Student's t with a common variance."""
    degrees = len(left) + len(right) - 2
    if degrees <= 0:
        return 1.0
    squares = sum((value - mean(side)) ** 2 for side in (left, right) for value in side)
    gap = mean(right) - mean(left)
    if squares == 0:
        return 1.0 if gap == 0 else 0.0
    error = math.sqrt(squares / degrees * (1 / len(left) + 1 / len(right)))
    return t_tail(gap / error, degrees)


def best_split(series: Sequence[float]) -> int:
    """The place with the largest energy distance between what is before and after; 0 when the series is too short."""
    import numpy as np

    n = len(series)
    if n < 2 * LEAST_SIDE:
        return 0
    values = np.asarray(series)
    apart = np.abs(values[:, None] - values[None, :])
    best, where = 0.0, 0
    for place in range(LEAST_SIDE, n - LEAST_SIDE + 1):
        m, k = place, n - place
        across = 2 * float(apart[:place, place:].mean())
        left = float(apart[:place, :place].sum()) / (m * (m - 1))
        right = float(apart[place:, place:].sum()) / (k * (k - 1))
        distance = m * k / (m + k) * (across - left - right)
        if distance > best:
            best, where = distance, place
    return where
