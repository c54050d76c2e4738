"""The two-point rate: exact on exact data, immune to what both arms share, and honest where it fails."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.analysis.statistics.decode import linearity, naive_pair, naive_rate, two_point


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 30), st.floats(5, 500), st.integers(100, 2000))
def test_whatever_both_arms_share_cancels(overhead_s: float, rate: float, delta: int) -> None:
    short = [overhead_s + 32 / rate] * 4
    long = [overhead_s + (32 + delta) / rate] * 4
    found = two_point(short, long, delta)
    assert found.value == pytest.approx(rate)
    assert (found.low, found.high) == pytest.approx((rate, rate))


def test_the_naive_rate_has_the_overhead_in_it() -> None:
    seconds = 0.35 + 600 / 160
    assert naive_rate(600, seconds) == pytest.approx(146.3, abs=0.1)
    assert naive_pair([0.55], [4.1], 568) == pytest.approx(160)
    assert math.isnan(naive_pair([4.0], [1.0], 568))


def test_noise_larger_than_the_difference_gives_an_open_interval_or_no_number() -> None:
    wide = two_point([0.1, 0.2, 0.3, 5.0], [0.4, 0.5, 0.6, 6.0], 32)
    assert wide.high == math.inf
    none = two_point([5.0, 5.1, 5.2, 5.3], [1.0, 1.1, 1.2, 1.3], 32)
    assert math.isnan(none.value)
    assert none.flags == ("no slope",)
    with pytest.raises(ValueError, match="longer"):
        two_point([1.0], [2.0], 0)


def sample(lengths: list[int], rng: random.Random, bend: float = 0.0) -> list[float]:
    return [0.3 + n / 160 + bend * (n / 600) ** 2 + rng.gauss(0, 0.004) for n in lengths]


def test_lengths_on_one_line_pass_and_a_bend_does_not() -> None:
    lengths = [32, 243, 421, 600] * 2
    passed = sum(linearity(lengths, sample(lengths, random.Random(seed))).linear for seed in range(100))
    assert passed >= 97
    bent = linearity(lengths, sample(lengths, random.Random(1), bend=0.2))
    assert bent.why == ("curved",)


def test_a_slope_that_differs_from_the_two_points_is_said() -> None:
    lengths = [32, 243, 421, 600] * 2
    times = sample(lengths, random.Random(2))
    assert linearity(lengths, times, two_point_tok_s=160).linear
    assert linearity(lengths, times, two_point_tok_s=150).why == ("slopes differ",)
    with pytest.raises(ValueError, match="three lengths"):
        linearity([32, 600, 32, 600], [1.0, 2.0, 1.0, 2.0])
