"""The line of step time over context, and where a cell at another context would lie."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.analysis.statistics.sweep import Cell, abscissa, fit, stated_fit

CONTEXTS = (1000, 2000, 4000, 8000, 16000, 24000, 32000, 48000, 64000, 96000)


def cells(rng: random.Random, *, noise: float = 0.01, a: float = 20.0, b: float = 2e-4) -> list[Cell]:
    return [Cell(x, (a + b * x) * (1 + rng.gauss(0, noise))) for x in CONTEXTS for _ in range(2)]


@settings(max_examples=40, deadline=None)
@given(st.floats(1, 100), st.floats(1e-5, 0.1))
def test_an_exact_line_is_found_exactly(a: float, b: float) -> None:
    found = fit([Cell(x, a + b * x) for x in CONTEXTS])
    assert found.intercept_ms.value == pytest.approx(a, rel=1e-6)
    assert found.slope_ms_per_token.value == pytest.approx(b, rel=1e-6)
    assert found.predict(100_000).value == pytest.approx(a + b * 100_000)
    assert found.noise < 1e-6


def test_a_cell_stands_where_its_steps_were() -> None:
    assert abscissa(13, 32, 600) == 329


def test_prediction_intervals_hold_a_new_cell_as_often_as_they_say() -> None:
    held = intercepts = 0
    for seed in range(200):
        rng = random.Random(seed)
        found = fit(cells(rng))
        held += found.predict(50_000).covers(30 * (1 + rng.gauss(0, 0.01)))
        intercepts += found.intercept_ms.covers(20)
    assert held >= 182
    assert intercepts >= 182


def test_predictions_say_how_far_they_reach() -> None:
    found = fit(cells(random.Random(1)))
    assert found.predict(50_000).flags == ()
    assert found.predict(192_000).flags == ("extrapolated 2.0-fold",)
    assert found.predict(100).flags == ("extrapolated 10.0-fold",)
    assert found.predict(192_000).half_width > found.predict(50_000).half_width
    assert found.predict(50_000).interval == "prediction"


def test_large_steps_do_not_outweigh_small_ones() -> None:
    """One cell 5 % high at the far end moves the intercept by less than the cell's own noise there would by itself."""
    exact = [Cell(x, 20 + 2e-3 * x) for x in CONTEXTS]
    moved = fit([*exact[:-1], Cell(exact[-1].context_tokens, exact[-1].step_ms * 1.05)])
    assert moved.intercept_ms.value == pytest.approx(20, rel=0.03)


@pytest.mark.parametrize(
    ("given_cells", "why"),
    [
        ([Cell(1, 1), Cell(2, 2)], "at least 3"),
        ([Cell(1, 1), Cell(1, 2), Cell(1, 3)], "two contexts"),
        ([Cell(1, 1), Cell(2, 0), Cell(3, 3)], "positive"),
        ([Cell(1, 1), Cell(2, float("nan")), Cell(3, 3)], "finite"),
    ],
)
def test_cells_that_make_no_line_are_refused(given_cells: list[Cell], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        fit(given_cells)


def test_a_line_of_which_only_two_numbers_are_known_predicts_without_an_interval() -> None:
    found = stated_fit(26.3, 0.0201, 13, 5553)
    ahead = found.predict(200_000)
    assert ahead.value == pytest.approx(4046.3)
    assert ahead.high == float("inf")
    assert ahead.flags == ("extrapolated 36.0-fold",)
