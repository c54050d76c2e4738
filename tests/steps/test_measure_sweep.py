"""The keys of the step."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from console.steps.measure_sweep import MeasureSweep


def test_the_budget_is_a_duration() -> None:
    assert MeasureSweep.model_validate({"budget": "15m"}).budget == 900


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("contexts", "", "needs contexts"),
        ("contexts", "13,all", "write tokens"),
        ("text_class", "short", "one length only"),
        ("output_tokens", 64, "greater than or equal to 96"),
        ("budget", "soon", "not a duration"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_host_is_asked(key: str, value: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        MeasureSweep.model_validate({key: value})
