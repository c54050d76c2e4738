"""A written number is known to half a unit of its last digit."""

from __future__ import annotations

import pytest

from console.analysis.statistics.stated import exactly, stated


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [("2.9", 2.9, 0.05), ("32", 32, 0.5), ("24.60", 24.6, 0.005), ("1,500", 1500, 0.5), ("1e3", 1000, 500)],
)
def test_the_last_digit_says_the_precision(text: str, value: float, half: float) -> None:
    found = stated(text)
    assert found.value == pytest.approx(value)
    assert found.half_unit == pytest.approx(half)


@pytest.mark.parametrize("text", ["", "fast", "0", "-3", "nan", "inf"])
def test_what_is_no_positive_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a number"):
        stated(text)
    with pytest.raises(ValueError, match="not a number"):
        exactly(float("nan"))


def test_an_exact_number_adds_nothing_to_the_spread() -> None:
    assert exactly(3.2).log_variance == 0
    assert stated("2.9").log_variance == pytest.approx((0.05 / 2.9) ** 2 / 3)
