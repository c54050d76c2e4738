"""When estimates of one figure agree, differ, or say too little to tell."""

from __future__ import annotations

import math

import pytest

from console.analysis.statistics.agreement import agree, agreement
from console.analysis.statistics.estimate import Estimate


def between(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low, high)


OPEN = (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (between(100, 99, 101), between(102, 101.5, 102.5), True),  # 2 % apart
        (between(100, 99, 101), between(110, 95, 125), True),  # the wide one holds the other
        (between(100, 99, 101), between(110, 109, 111), False),
        (between(100, *OPEN), between(101, *OPEN), True),
        (between(100, *OPEN), between(110, *OPEN), None),
        (between(100, 99, 101), between(110, *OPEN), False),  # the closed one excludes it
        (between(100, 90, 111), between(110, *OPEN), True),
        (between(100, 99, math.inf), between(110, *OPEN), None),
    ],
)
def test_within_a_share_or_inside_the_others_interval(one: Estimate, other: Estimate, said: bool | None) -> None:
    assert agree(one, other) is said
    assert agree(other, one) is said


def test_every_two_of_them_are_compared() -> None:
    narrow = [between(100, 99.9, 100.1), between(102.5, 102.4, 102.6), between(105, 104.9, 105.1)]
    assert agreement(narrow[:2]) is True
    assert agreement(narrow) is False  # the first and the last
    assert agreement(narrow[:1]) is None
    assert agreement([between(100, *OPEN), between(120, *OPEN)]) is None
