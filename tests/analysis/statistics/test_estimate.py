"""A figure with its interval."""

from __future__ import annotations

import math

import pytest

from console.analysis.statistics.estimate import Estimate, numbers


def test_an_open_interval_has_no_width() -> None:
    assert Estimate(160, 158, 162).half_width == 2 / 160
    assert Estimate(1, -math.inf, math.inf).half_width == math.inf
    assert Estimate(0, -1, 1).half_width == math.inf


def test_what_it_covers_and_what_it_excludes() -> None:
    found = Estimate(160, 159, 161)
    assert found.covers(159)
    assert found.excludes(161.5)


def test_flags_are_added_once() -> None:
    assert Estimate(1, 0, 2).with_flags("a", "b").with_flags("a").flags == ("a", "b")


def test_what_is_no_number_is_named() -> None:
    with pytest.raises(ValueError, match="steps: 1 values, at least 2"):
        numbers([1], "steps", 2)
    with pytest.raises(ValueError, match="steps: not a finite number"):
        numbers([1, math.nan], "steps")
