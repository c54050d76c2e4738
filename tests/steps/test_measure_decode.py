"""The keys of the step, and which cells they mean."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from console.steps.measure_decode import MeasureDecode


def test_lists_may_be_written_with_commas() -> None:
    step = MeasureDecode.model_validate({"contexts": "13, 8k,50%,old-limit", "text_classes": "prose"})
    assert step.contexts == ("13", "8k", "50%", "old-limit")
    assert step.text_classes == ("prose",)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("contexts", "many", "write tokens"),
        ("text_classes", "poetry", "classes of text are short"),
        ("output_tokens", 40, "at least 96"),
        ("samples", 0, "greater than or equal to 1"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_host_is_asked(key: str, value: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        MeasureDecode.model_validate({key: value})
