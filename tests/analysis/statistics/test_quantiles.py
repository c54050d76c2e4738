"""Quantiles say how many values they rest on."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.analysis.statistics.quantiles import least_for, quantile


def test_how_many_values_a_tail_needs() -> None:
    assert (least_for(0.5), least_for(0.95), least_for(0.99)) == (6, 72, 368)
    assert quantile(range(72), 0.95).high == 71
    few = quantile(range(71), 0.95)
    assert few.high == math.inf
    assert few.flags == ("max of 71",)
    assert quantile(range(40), 0.01).flags == ("min of 40",)
    assert quantile([1.0, 2.0], 0.5).flags == ("only 2",)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80), st.sampled_from([0.05, 0.5, 0.9, 0.95]))
def test_the_value_lies_among_the_values_and_in_its_interval(values: list[float], share: float) -> None:
    found = quantile(values, share)
    assert min(values) <= found.value <= max(values)
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize(("share", "truth"), [(0.5, math.exp(0)), (0.95, math.exp(1.6449))])
def test_the_interval_holds_the_truth_whatever_the_shape(share: float, truth: float) -> None:
    rng = random.Random(12)
    held = sum(quantile([rng.lognormvariate(0, 1) for _ in range(100)], share).covers(truth) for _ in range(200))
    assert held >= 184


def test_what_is_no_quantile_is_refused() -> None:
    with pytest.raises(ValueError, match="share"):
        quantile([1.0], 1.0)
    with pytest.raises(ValueError, match="at least 1"):
        quantile([], 0.5)
