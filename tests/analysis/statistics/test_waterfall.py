"""A complaint about a rate, taken apart: what explains it, and when nothing does."""

from __future__ import annotations

import math

import pytest

from console.analysis.statistics.stated import exactly, stated
from console.analysis.statistics.sweep import Cell, fit, stated_fit
from console.analysis.statistics.waterfall import Reference, Waterfall, implied_accept, waterfall

# A published account of one service: (prompt tokens, tokens/s, accept_length), 600 tokens each.
PUBLISHED = ((13, 139.6, 4.75), (1663, 114.2, 7.17), (3333, 77.9, 7.90), (5553, 54.5, 7.85))
FIT = fit([Cell(prompt + 300, accept / rate * 1000) for prompt, rate, accept in PUBLISHED])


def complaint(observed: str, prompt: int = 2700) -> Waterfall:
    reference = Reference(stated("138"), stated("4.75"), 313)
    return waterfall(stated(observed), stated("2.9"), FIT, prompt + 750, tokens=1500, wait_s=0.06, reference=reference)


def test_thirty_two_tokens_a_second_is_what_text_and_context_give() -> None:
    found = complaint("32")
    assert 29 < found.predicted.value < 31.5
    assert found.explained
    factors = {term.name: term.factor for term in found.terms}
    assert factors["accept_length"] == pytest.approx(0.61, abs=0.01)
    assert factors["context"] == pytest.approx(0.35, abs=0.01)
    assert factors["prefill"] > 0.995


def test_factors_and_remainder_make_up_the_whole_way() -> None:
    found = complaint("32")
    assert found.start * math.prod(term.factor for term in found.terms) == pytest.approx(found.predicted.value)
    assert found.predicted.value * math.exp(found.remainder) == pytest.approx(32)


def test_a_rate_below_the_curve_is_not_explained_and_says_how_much_longer_the_steps_are() -> None:
    found = complaint("24.6")
    assert not found.explained
    assert found.steps_ratio == pytest.approx(1.2, abs=0.05)


def test_a_rate_above_the_curve_is_not_explained_either() -> None:
    found = complaint("32", prompt=5000)
    assert not found.explained
    assert found.steps_ratio < 1


def test_a_rougher_statement_explains_more() -> None:
    assert complaint("3e1").limit > complaint("30.0").limit


def test_a_line_without_a_known_spread_explains_five_percent() -> None:
    line = stated_fit(26.3, 0.0201, 329, 5869)
    rate = 2.9 / line.mean_at(3450) * 1000
    assert waterfall(exactly(rate * 1.04), exactly(2.9), line, 3450).explained
    assert not waterfall(exactly(rate * 1.06), exactly(2.9), line, 3450).explained


def test_batch_and_waiting_have_their_own_factors() -> None:
    found = waterfall(exactly(10), exactly(2.9), FIT, 3450, tokens=100, wait_s=3.0, batch=exactly(1.5))
    factors = {term.name: term.factor for term in found.terms}
    assert factors["batch"] == pytest.approx(1 / 1.5)
    assert factors["prefill"] == pytest.approx(100 / (100 + 30.4 / 1.5 * 3), abs=0.01)


def test_an_extrapolated_prediction_says_so() -> None:
    assert waterfall(exactly(1), exactly(2.9), FIT, 200_000).predicted.flags == ("extrapolated 34.2-fold",)


def test_a_headline_on_easy_text_implies_its_accept_length() -> None:
    assert implied_accept(67, FIT, 5388).value == pytest.approx(8.9, abs=0.1)
    assert implied_accept(113, FIT, 3372).value == pytest.approx(10.6, abs=0.1)
