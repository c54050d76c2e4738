"""The table of what was measured."""

from __future__ import annotations

from typing import Any

from console.schema.cells import Cell
from console.schema.events import FindingMade
from console.views.measured import measured_lines


def cell(step: str = "sweep", context: int = 500, **more: Any) -> Cell:
    given: dict[str, Any] = {
        "name": f"{context} tokens", "step": step, "text_class": "prose", "asked_tokens": context,
        "context_tokens": context, "rate_tok_s": 100.0, "accept_length": 3.0, "step_ms": 30.0, "pairs": 1,
    }  # fmt: skip
    return Cell.model_validate(given | more)


def test_visits_of_one_context_are_one_line_and_contexts_stand_in_their_order() -> None:
    cells = [cell(context=4000, step_ms=60.0), cell(), cell(step_ms=32.0), cell(context=4000, step_ms=62.0)]
    lines = measured_lines(cells, [])
    assert [line.split() for line in lines[1:]] == [
        ["500", "prose", "100.0", "3.00", "31.0"],
        ["4000", "prose", "100.0", "3.00", "61.0"],
    ]


def test_a_cell_without_a_number_says_why() -> None:
    refused = cell(state="refused", reason="server busy", rate_tok_s=None, accept_length=None, step_ms=None)
    (_, line) = measured_lines([refused], [])
    assert line.split()[:5] == ["500", "prose", "-", "-", "-"]
    assert line.endswith("server busy")


def test_the_line_and_what_it_predicts_follow() -> None:
    fit = FindingMade(
        name="step_time_fit", value="", context_tokens="157..5697", flags=("drift 3 %",),
        figures={"intercept_ms": 26.3, "slope_ms_per_token": 0.0201},
    )  # fmt: skip
    predicted = FindingMade(
        name="step_time_predicted", value=4040.0, low=4035.0, high=4045.0, context_tokens=199_735,
        flags=("extrapolated 35.1-fold",),
    )  # fmt: skip
    said = measured_lines([cell()], [fit, predicted])
    assert said[2] == "step ms = 26.3 + 0.0201 · context, measured at 157..5697 tokens; drift 3 %"
    assert said[3].startswith("predicted at 199,735 tokens: 4040 ms [4035, 4045], extrapolated 35.1-fold")
    assert all(len(line) <= 80 for line in said)


def test_nothing_measured_says_nothing() -> None:
    assert measured_lines([], []) == []
