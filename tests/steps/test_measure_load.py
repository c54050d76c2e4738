"""The keys of the step, and prompts that share no beginning."""

from __future__ import annotations

import random

import pytest
from pydantic import ValidationError

from console.steps.measure_load import MeasureLoad, beginnings


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("concurrency", "1,many", "numbers from 1 to 512"),
        ("concurrency", "0", "numbers from 1 to 512"),
        ("text_class", "poetry", "classes of text are"),
        ("rate", -1, "greater than or equal to 0"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_host_is_asked(key: str, value: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        MeasureLoad.model_validate({key: value})


def test_no_two_prompts_begin_alike_and_all_are_of_one_size() -> None:
    base = tuple(range(100, 400))
    prompt = beginnings(base, random.Random(1))
    made = [prompt() for _ in range(50)]
    assert len({one[:8] for one in made}) == 50
    assert {len(one) for one in made} == {300}
    assert {one[8:] for one in made} == {base[8:]}
