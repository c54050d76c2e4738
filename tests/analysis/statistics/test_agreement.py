"""Several estimators of one figure."""

from __future__ import annotations

import math

from console.analysis.statistics.agreement import agreement
from console.analysis.statistics.estimate import Estimate


def around(value: float, half: float = 0.5) -> Estimate:
    return Estimate(value, value - half, value + half)


def test_they_agree_within_two_percent_or_inside_each_others_interval() -> None:
    assert agreement({"server": around(160), "client": around(162), "stream": around(159)}).agree
    assert agreement({"server": around(160, 9), "client": around(168, 9)}).agree
    assert not agreement({"server": around(160, 1), "client": around(168, 9)}).agree


def test_of_three_the_odd_one_is_named() -> None:
    found = agreement({"server": around(160), "client": around(161), "stream": around(400)})
    assert (found.agree, found.odd) == (False, "stream")
    assert found.spread == 1.5


def test_what_has_no_value_is_not_compared() -> None:
    found = agreement({"server": around(160), "stream": Estimate(math.nan, 0, math.inf)})
    assert found.agree
    assert found.compared == ("server",)


def test_flags_are_added_once_and_an_open_interval_has_no_width() -> None:
    assert around(1).with_flags("a", "b").with_flags("a").flags == ("a", "b")
    assert Estimate(1, -math.inf, math.inf).half_width == math.inf
    assert around(160).excludes(161)
