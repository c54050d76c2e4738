"""Numbers as people state them: "2.9" is anything from 2.85 to 2.95.

::

    stated("2.9") -> Stated(value=2.9, half_unit=0.05)
    Stated.log_variance                                  variance of ln(value): a uniform error of half a unit
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation


@dataclass(frozen=True)
class Stated:
    """A positive number and half a unit of its last digit, both in the same unit."""

    value: float
    half_unit: float = 0.0

    @property
    def log_variance(self) -> float:
        """A number rounded to whole units is off by a uniform error: variance (half_unit / value)² / 3."""
        return (self.half_unit / self.value) ** 2 / 3

    @property
    def log(self) -> float:
        return math.log(self.value)


def stated(text: str) -> Stated:
    """Read a number with the precision it was written with. Raises ValueError unless it is one, and above zero."""
    try:
        number = Decimal(text.strip().replace(",", "").replace("_", ""))
    except InvalidOperation as error:
        raise ValueError(f"not a number: {text!r}") from error
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or number <= 0:
        raise ValueError(f"not a number above zero: {text!r}")
    return Stated(float(number), float(Decimal(5).scaleb(exponent - 1)))


def exactly(value: float) -> Stated:
    """A number without rounding, as counters and records have it. Raises ValueError unless it is above zero."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"not a number above zero: {value!r}")
    return Stated(value)
