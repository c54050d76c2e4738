"""A gate passes only what loses neither in the median nor in the tail, and says when it cannot tell."""

from __future__ import annotations

import random

import pytest

from console.analysis.statistics.gate import judge


def latencies(seed: int, *, scale: float = 1.0, tail: float = 1.0, n: int = 400) -> list[float]:
    chance = random.Random(seed)
    values = [scale * chance.lognormvariate(0, 0.2) for _ in range(n)]
    return [value * tail if index % 12 == 0 else value for index, value in enumerate(values)]


def test_a_better_median_with_a_worse_p95_is_a_fail() -> None:
    before = [latencies(seed) for seed in range(4)]
    now = [latencies(seed + 10, scale=0.9, tail=2.0) for seed in range(4)]
    found = judge(before, now, better="lower")
    assert found.median.worse.high < 0
    assert (found.verdict, found.tail.verdict) == ("fail", "fail")
    assert "better" in found.why
    assert "a loss" in found.why


def test_the_same_passes_and_so_does_what_is_better() -> None:
    before = [latencies(seed) for seed in range(4)]
    assert judge(before, [latencies(seed + 50) for seed in range(4)], better="lower").verdict == "pass"
    assert judge(before, [latencies(seed, scale=0.8) for seed in range(4)], better="lower").verdict == "pass"


def test_of_one_restart_a_loss_within_what_restarts_do_is_no_fail() -> None:
    one = latencies(1, n=4000)
    slower = [value * 1.02 for value in latencies(2, n=4000)]
    assert judge([one], [slower], better="lower", restart_spread=0.02).verdict == "pass"
    assert judge([one], [[value * 1.5 for value in one]], better="lower").verdict == "fail"


def test_few_values_cannot_tell() -> None:
    assert judge([latencies(1, n=12)], [latencies(2, n=12)], better="lower").verdict == "inconclusive"


def test_a_rate_is_worse_when_it_is_lower() -> None:
    rates = [[100.0 + seed, 101.0, 102.0 - seed, 99.0] for seed in range(3)]
    assert judge(rates, [[value * 0.8 for value in group] for group in rates], better="higher").verdict == "fail"
    assert judge(rates, [[value * 1.2 for value in group] for group in rates], better="higher").verdict == "pass"


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        judge([], [[1.0]], better="lower")
