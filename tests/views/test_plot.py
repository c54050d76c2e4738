"""Charts: inside their box, in braille and in ASCII, with the intervals."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.schema.cells import Cell
from console.schema.events import FindingMade
from console.views.cells import cells
from console.views.plain import to_ascii
from console.views.plot import Point, Series, chart
from console.views.series import change, series_chart, series_table, step_times

RISING = Series("now", tuple(Point(x, 26.3 + 0.02 * x, 25 + 0.02 * x, 27.5 + 0.02 * x) for x in (13, 1663, 5553)))


def test_a_chart_has_its_axes_its_legend_and_every_point() -> None:
    for ascii_only in (False, True):
        said = chart([RISING], 60, 16, x="tokens", y="step_time ms", ascii_only=ascii_only)
        assert len(said) == 15
        assert max(map(cells, said)) <= 60
        assert said[0].startswith("step_time ms   * now")
        assert sum(line.count("*") for line in said[1:]) == 3
        assert said[-1].rstrip().endswith("5553 tokens")
        assert all(line.isascii() for line in said) is ascii_only


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)), max_size=12), st.integers(24, 120))
def test_any_points_stay_inside(points: list[tuple[float, float]], width: int) -> None:
    said = chart([Series("s", tuple(Point(x, y) for x, y in sorted(points)))], width, 12, x="x", y="y")
    assert not said or max(map(cells, said)) <= width


def test_nothing_to_draw_is_no_chart() -> None:
    assert chart([Series("now", ())], 60, 16, x="x", y="y") == []


def finding(value: float, low: float, high: float, context: int = 1000) -> FindingMade:
    return FindingMade(name="decode_rate", value=value, low=low, high=high, unit="tok/s", context_tokens=context, n=20)


def test_a_difference_beyond_the_spread_is_marked() -> None:
    assert change(finding(100, 99, 101), finding(110, 109, 111)) == "-9.1% !"
    assert change(finding(100, 90, 110), finding(105, 95, 115)) == "-4.8%"
    assert change(finding(100, 99, 101), None) == ""


def test_the_table_and_the_chart_of_one_measurement_fit() -> None:
    now, before = [finding(100, 99, 101), finding(90, 88, 92, 5000)], [finding(110, 109, 111)]
    for width in (38, 78, 117):
        assert max(map(cells, series_table(now, before, width))) <= max(width, 60)
        assert max(map(cells, series_chart(now, before, width, 14))) <= width
    assert "-9.1% !" in "\n".join(series_table(now, before, 100))


def test_ascii_keeps_the_columns() -> None:
    assert to_ascii("a…b → c × 漢") == "a~b > c x ??"


def test_the_fitted_line_goes_through_the_points_of_a_sweep() -> None:
    points = [
        FindingMade(name="step_time", value=26.3 + 0.02 * x, unit="ms", context_tokens=x, text_class="analysis")
        for x in (13, 3333, 5553)
    ]
    figures = {"intercept_ms": 26.3, "slope_ms_per_token": 0.02}
    fit = FindingMade(name="step_time_fit", value="", context_tokens="13..5553", figures=figures)
    said = series_chart([*points, fit], (), 80, 16)
    assert "-- fit 26.3 + 0.02 · context" in said[0]
    assert sum(line.count("*") for line in said[1:]) == 3
    assert sum(1 for line in said[1:-2] if any("\u2800" < one <= "\u28ff" for one in line)) >= 5
    assert "fit" not in "\n".join(series_chart(points, (), 80, 16))


def test_measured_cells_are_points_and_refused_ones_are_none() -> None:
    def cell(context: int, step_ms: float | None) -> Cell:
        return Cell(
            name=f"analysis at {context}",
            step="sweep",
            text_class="analysis",
            state="refused" if step_ms is None else "measured",
            context_tokens=context,
            at_tokens=context + 66.5,
            step_ms=step_ms,
            pairs=2,
        )

    points = step_times("node7/chat", [cell(13, 26.6), cell(1663, 59.1), cell(3333, None)])
    assert [(one.context_tokens, one.value) for one in points] == [(80, 26.6), (1730, 59.1)]
    assert sum(line.count("*") for line in series_chart(points, (), 80, 16)[1:]) == 2
