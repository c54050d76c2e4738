from __future__ import annotations

import pytest

from console.views import figures


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0s"), (0.24, "0.2s"), (9.94, "9.9s"), (9.96, "10s"), (59.6, "1m00s"), (345, "5m45s"),
        (3599.6, "1h00m"), (3900, "1h05m"), (-1, "0.0s"),
    ],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert figures.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "n/a"), (7, "7"), (9999, "9999"), (200000, "200,000"), (139.63, "139.6"), (0.0201, "0.0201"),
        ("auto", "auto"), (5.0, "5"), (123456.7, "123,457"), (float("inf"), "inf"), (float("nan"), "nan"),
    ],
)  # fmt: skip
def test_numbers(value: float | str | None, text: str) -> None:
    assert figures.number(value) == text


def test_times_of_day_keep_their_zone_and_odd_stamps_stay() -> None:
    assert figures.clock("2026-03-04T03:02:11.123Z") == "03:02Z"
    assert figures.clock_s("2026-03-04T03:02:11.123Z") == "03:02:11Z"
    assert figures.day("2026-03-04T03:02:11.123Z") == "2026-03-04 03:02Z"
    assert [figures.clock("?"), figures.clock_s(""), figures.day("soon")] == ["?", "", "soon"]


def test_a_bar_shows_how_much_is_done() -> None:
    assert figures.bar(1, 4, 8) == "[##......]"
    assert figures.bar(9, 4, 8) == "[########]"
    assert figures.bar(1, 0, 4) == "[....]"
