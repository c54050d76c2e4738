"""Changes of level in a series of findings."""

from __future__ import annotations

import random

import pytest

from console.analysis.statistics.trend import trend


def series(seed: int, *levels: tuple[int, float], noise: float = 0.01) -> list[float]:
    rng = random.Random(seed)
    return [level * (1 + rng.gauss(0, noise)) for count, level in levels for _ in range(count)]


def test_a_change_of_level_is_found_where_it_happened() -> None:
    found = [trend(series(seed, (9, 160), (9, 150))).changes for seed in range(40)]
    exact = [changes for changes in found if len(changes) == 1 and abs(changes[0].index - 9) <= 1]
    assert len(exact) >= 36
    assert exact[0][0].change == pytest.approx(-0.0625, abs=0.02)


def test_two_changes_are_told_apart() -> None:
    changes = trend(series(1, (12, 160), (10, 130), (12, 145))).changes
    assert [abs(change.index - place) <= 1 for change, place in zip(changes, (12, 22), strict=True)] == [True, True]


def test_noise_makes_no_change() -> None:
    assert sum(bool(trend(series(seed, (30, 160))).changes) for seed in range(60)) <= 2


def test_a_small_change_is_not_worth_a_word_however_sure() -> None:
    assert trend(series(1, (20, 160), (20, 158), noise=0.001)).changes == ()


def test_the_newest_is_judged_by_those_before_it() -> None:
    steady = [160.0, 161.0, 159.5, 160.5, 160.2]
    assert trend([*steady, 160.8]).newest == "as before"
    fallen = trend([*steady, 150.0])
    assert fallen.newest == "outside"
    assert fallen.expected is not None
    assert fallen.expected.interval == "prediction"
    assert trend([160.0, 150.0]).newest == "too few"
    assert trend([]).expected is None


def test_a_level_without_any_noise() -> None:
    assert [change.index for change in trend([100.0] * 6 + [110.0] * 6).changes] == [6]
