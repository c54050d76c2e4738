"""Rows of a history in the order of what happened, read no further than that needs."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from console.results.history import SKEW_S, Row, as_ended

HOUR = 3600.0


def row(committed: float, ended: float) -> Row:
    return Row("0" * 40, "R", "gpu7/llm", int(committed), ended, "", "")


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 100)), max_size=30))
def test_the_latest_end_comes_first_however_late_it_was_committed(runs: list[tuple[int, int]]) -> None:
    """Each is committed some hours after its end; git gives the newest commits first."""
    rows = sorted((row((end + late) * HOUR, end * HOUR) for end, late in runs), key=lambda one: -one.committed)
    assert [one.ended for one in as_ended(rows)] == sorted((one.ended for one in rows), reverse=True)


def test_no_more_is_read_than_decides() -> None:
    read: list[float] = []

    def rows() -> Iterator[Row]:
        for hours in range(1000, 0, -10):
            read.append(hours)
            yield row(hours * HOUR, hours * HOUR)

    newest = next(as_ended(rows()))
    assert newest.ended == 1000 * HOUR
    assert len(read) <= 1 + SKEW_S / HOUR
