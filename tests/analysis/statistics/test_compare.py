"""Two configurations compared over restarts."""

from __future__ import annotations

import math
import random

import pytest

from console.analysis.statistics.compare import compare, restart_spread


def measured(rng: random.Random, restarts: int, *, factor: float = 1.0, requests: int = 8) -> list[list[float]]:
    made = []
    for _ in range(restarts):
        level = 160 * factor * math.exp(rng.gauss(0, 0.01))
        made.append([level * math.exp(rng.gauss(0, 0.006)) for _ in range(requests)])
    return made


def test_the_same_configuration_is_seldom_called_changed() -> None:
    changed = 0
    for seed in range(200):
        rng = random.Random(seed)
        changed += compare(measured(rng, 4), measured(rng, 4)).verdict == "changed"
    assert changed <= 18


def test_three_percent_is_found_with_five_restarts() -> None:
    found = 0
    for seed in range(100):
        rng = random.Random(seed)
        found += compare(measured(rng, 5), measured(rng, 5, factor=1.03)).verdict == "changed"
    assert found >= 80


def test_requests_of_one_restart_never_prove_a_change() -> None:
    """Eight requests each look very sure of themselves, and are about one process each."""
    rng = random.Random(3)
    a, b = measured(rng, 1), measured(rng, 1, factor=1.2)
    assert compare(a, b).verdict == "suggestive"
    assert compare(a, [[value * 1.01 for value in a[0]]]).verdict == "no difference shown"
    assert "assumed" in compare(a, b).why
    assert compare(a, b, restart_spread=0.2).verdict == "no difference shown"


def test_the_ratio_is_of_b_to_a_and_its_interval_turns_with_them() -> None:
    rng = random.Random(5)
    a, b = measured(rng, 4), measured(rng, 4, factor=1.1)
    forth, back = compare(a, b), compare(b, a)
    assert forth.change == pytest.approx(0.1, abs=0.03)
    assert back.ratio.value == pytest.approx(1 / forth.ratio.value)
    assert back.ratio.low == pytest.approx(1 / forth.ratio.high)


def test_unequal_numbers_of_restarts_are_compared_too() -> None:
    rng = random.Random(6)
    found = compare(measured(rng, 6), measured(rng, 4, factor=1.1))
    assert found.verdict == "changed"
    assert found.restarts == 4
    assert found.ratio.method == "welch_restarts"


def test_what_would_have_been_seen_is_told() -> None:
    rng = random.Random(7)
    assert 0.01 < compare(measured(rng, 5), measured(rng, 5)).detectable < 0.06


def test_the_spread_of_restarts_is_told_from_that_of_requests() -> None:
    found = restart_spread(measured(random.Random(8), 40))
    assert found.within == pytest.approx(0.006, rel=0.2)
    assert found.between == pytest.approx(0.01, rel=0.3)
    with pytest.raises(ValueError, match="two are needed"):
        restart_spread([[1.0, 2.0]])


@pytest.mark.parametrize(("a", "b"), [([], [[1.0]]), ([[1.0]], []), ([[0.0]], [[1.0]]), ([[]], [[1.0]])])
def test_what_cannot_be_compared_is_refused(a: list[list[float]], b: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"^(A|B)\b"):
        compare(a, b)
