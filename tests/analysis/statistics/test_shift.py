"""The shift between two groups: what it must survive, and how often its interval holds the truth."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.analysis.statistics.shift import shift

durations = st.lists(st.floats(0.01, 100), min_size=4, max_size=9)


@settings(max_examples=60, deadline=None)
@given(durations, durations, st.floats(-50, 50))
def test_moving_the_long_arm_moves_the_estimate_by_as_much(short: list[float], long: list[float], by: float) -> None:
    before, after = shift(short, long), shift(short, [value + by for value in long])
    for name in ("value", "low", "high"):
        assert getattr(after, name) == pytest.approx(getattr(before, name) + by, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(durations, durations)
def test_swapping_the_arms_turns_the_sign_and_the_value_lies_inside(short: list[float], long: list[float]) -> None:
    forth, back = shift(short, long), shift(long, short)
    assert back.value == pytest.approx(-forth.value)
    assert (back.low, back.high) == pytest.approx((-forth.high, -forth.low))
    assert forth.low <= forth.value <= forth.high


def test_one_reply_that_hung_changes_little() -> None:
    short, long = [0.50, 0.51, 0.52, 0.53], [4.10, 4.11, 4.12, 4.13]
    assert shift(short, [*long[:3], 40.0]).value == pytest.approx(3.6, abs=0.02)


def test_too_few_for_an_exact_interval_says_so() -> None:
    three = shift([1.0, 1.1, 1.2], [2.0, 2.1, 2.2])
    assert three.flags == ("indicative",)
    assert three.low < 1.0 < three.high
    one = shift([1.0], [2.0])
    assert one.flags == ("single pair",)
    assert (one.low, one.high) == (-math.inf, math.inf)
    assert shift([1.0] * 3, [2.0] * 3).half_width == 0


@pytest.mark.parametrize(("short", "long"), [([], [1.0]), ([1.0], []), ([math.nan], [1.0]), ([1.0], [math.inf])])
def test_what_is_no_number_is_refused(short: list[float], long: list[float]) -> None:
    with pytest.raises(ValueError, match="arm"):
        shift(short, long)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = random.Random(11)
    held = 0
    for _ in range(400):
        short = [0.4 + rng.lognormvariate(-3, 1) for _ in range(5)]
        long = [4.0 + rng.lognormvariate(-3, 1) for _ in range(5)]
        held += shift(short, long).covers(3.6)
    assert held >= 372  # 96.8 % is what 5 + 5 gives at best; three standard errors below 95 % would be 367


def test_many_replies_that_waited_for_a_lost_packet_do_not_move_it() -> None:
    """With a third of them late, the median of differences is off by half a delay: then the lower quartiles speak."""
    rng = random.Random(21)
    errors, flagged = [], 0
    for _ in range(60):
        short, long = (
            [base + rng.gauss(0, 0.002) + (rng.uniform(0.2, 0.4) if rng.random() < 0.35 else 0) for _ in range(12)]
            for base in (0.55, 4.1)
        )
        found = shift(short, long)
        errors.append(abs(found.value / 3.55 - 1))
        flagged += "many delayed" in found.flags
        assert found.low <= found.value <= found.high
    assert sorted(errors)[56] < 0.005
    assert flagged > 50


def test_spread_alone_is_no_delay() -> None:
    rng = random.Random(22)
    both = [
        shift([rng.gauss(0.5, 0.02) for _ in range(12)], [rng.gauss(4, 0.1) for _ in range(12)]) for _ in range(100)
    ]
    assert sum("many delayed" in found.flags for found in both) <= 2
