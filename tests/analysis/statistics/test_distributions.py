"""The exact null distribution against counting by hand, and its known table values."""

from __future__ import annotations

from itertools import combinations
from math import comb

import pytest

from console.analysis.statistics.distributions import (
    binomial_cdf,
    mann_whitney_below,
    mann_whitney_counts,
    mann_whitney_rank,
    t_quantile,
    t_tail,
)


@pytest.mark.parametrize(("m", "k"), [(1, 1), (2, 3), (4, 4), (5, 3)])
def test_counts_are_those_of_listing_every_order(m: int, k: int) -> None:
    counted = [0] * (m * k + 1)
    for places in combinations(range(m + k), m):
        counted[sum(place - i for i, place in enumerate(places))] += 1
    assert list(mann_whitney_counts(m, k)) == counted
    assert sum(counted) == comb(m + k, m)


@pytest.mark.parametrize(
    ("m", "k", "alpha", "rank"),
    [(3, 3, 0.05, 0), (4, 4, 0.05, 1), (4, 4, 0.02, 0), (5, 5, 0.02, 2), (5, 5, 0.05, 3), (12, 12, 0.05, 38)],
)
def test_ranks_are_those_of_the_tables(m: int, k: int, alpha: float, rank: int) -> None:
    assert mann_whitney_rank(m, k, alpha) == rank
    assert mann_whitney_below(m, k, rank) <= alpha / 2
    assert mann_whitney_below(m, k, rank + 1) > alpha / 2


def test_large_samples_go_on_where_the_exact_ones_end() -> None:
    exact, approximate = mann_whitney_rank(60, 60, 0.05), mann_whitney_rank(60, 61, 0.05)
    assert 0 < approximate - exact < 40
    assert mann_whitney_below(60, 61, approximate) == pytest.approx(0.025, abs=2e-4)


def test_student_and_binomial_have_their_known_values() -> None:
    assert t_quantile(0.975, 2) == pytest.approx(4.3027, abs=1e-4)
    assert t_tail(-4.3027, 2) == pytest.approx(0.05, abs=1e-5)
    assert t_quantile(0.975, 0) == float("inf")
    assert binomial_cdf(1, 3, 0.5) == pytest.approx(0.5)
    assert (binomial_cdf(-1, 3, 0.5), binomial_cdf(3, 3, 0.5)) == (0.0, 1.0)
