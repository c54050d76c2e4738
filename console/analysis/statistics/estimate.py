"""A figure with its interval, as every estimator here returns it.

::

    Estimate(value, low, high, confidence=0.95, interval="confidence", n=0, method="", flags=())
        .half_width -> float          half the interval's width as a share of the value
        .covers(truth) -> bool
        .excludes(value) -> bool
        .with_flags(*names) -> Estimate
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["confidence", "prediction"]


@dataclass(frozen=True)
class Estimate:
    """Value and interval in the unit of what was estimated.

    `low` may be -inf and `high` inf: the data do not bound it. `confidence` is what the interval was made for, `n` the
    number of values used. `flags` are words for a reader, each of which makes the figure less than it seems.
    """

    value: float
    low: float
    high: float
    confidence: float = 0.95
    interval: Kind = "confidence"
    n: int = 0
    method: str = ""
    flags: tuple[str, ...] = ()

    @property
    def half_width(self) -> float:
        """Half the interval's width as a share of the value; inf where the interval is open or the value 0."""
        if self.value == 0 or not math.isfinite(self.high - self.low):
            return math.inf
        return (self.high - self.low) / 2 / abs(self.value)

    def covers(self, truth: float) -> bool:
        return self.low <= truth <= self.high

    def excludes(self, value: float) -> bool:
        return not self.covers(value)

    def with_flags(self, *names: str) -> Estimate:
        """The same with flags added, each once."""
        return replace(self, flags=tuple(dict.fromkeys((*self.flags, *names))))


def numbers(values: Sequence[float], what: str, least: int = 1) -> list[float]:
    """The values as floats. Raises ValueError when there are too few, or one is not a finite number."""
    found = [float(value) for value in values]
    if len(found) < least:
        raise ValueError(f"{what}: {len(found)} values, at least {least} are needed")
    if not all(math.isfinite(value) for value in found):
        raise ValueError(f"{what}: not a finite number among the values")
    return found
