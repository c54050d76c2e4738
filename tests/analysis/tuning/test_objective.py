"""An objective as people write it, and what is wrong with one."""

from __future__ import annotations

import pytest

from console.analysis.tuning.objective import Bound, parse_objective
from console.errors import InvalidFileError


def test_as_people_write_it() -> None:
    found = parse_objective("tokens/min/GPU max while p95 TTFT < 2 s and decode >= 60 tok/s and p95 ITL < 40 ms")
    assert (found.figure, found.way) == ("tok_min_gpu", "max")
    assert found.bounds == (
        Bound("ttft_p95_s", "<", 2.0),
        Bound("decode_tok_s", ">=", 60.0),
        Bound("itl_p95_ms", "<", 40.0),
    )
    assert parse_objective("p95 e2e min").bounds == ()


def test_a_figure_that_was_not_measured_keeps_no_bound() -> None:
    goal = parse_objective("decode max while p95 TTFT < 500 ms")
    assert goal.missed({"decode_tok_s": 9.0}) == [Bound("ttft_p95_s", "<", 0.5)]
    assert goal.missed({"ttft_p95_s": 0.4}) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("decode", "max or min"),
        ("speed max", "no such figure: speed"),
        ("decode max while p95 TTFT about 2 s", "is no bound"),
        ("decode max while p95 TTFT < 2 furlongs", "is no bound"),
    ],
)
def test_what_is_wrong_is_named(text: str, said: str) -> None:
    with pytest.raises(InvalidFileError, match=said):
        parse_objective(text)
