"""The keys of the step; what it does on a lab is in tests/runner/test_gates.py."""

from __future__ import annotations

import random

import pytest
from pydantic import ValidationError

from console.analysis.workload.retrieval import hidden, same_until
from console.steps.gate_quality import GateQuality


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("contexts", "much", "write tokens"),
        ("contexts", "8k,0k", "at least one token"),
        ("contexts", "0.0%", "at least one token"),
        ("depths", [], "depths are shares"),
        ("depths", [1.5], "depths are shares"),
        ("least", 2, "less than or equal to 1"),
        ("parity", "yes", "'no', 'record' or 'compare'"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_host_is_asked(key: str, value: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        GateQuality.model_validate({key: value})


def test_a_code_is_hidden_at_its_depth_and_found_however_it_is_written() -> None:
    text = "word " * 400
    one = hidden(text, 0.5, random.Random(3))
    assert 0.4 < one.prompt.index(one.code) / len(one.prompt) < 0.6
    assert one.prompt.endswith("the entry code is")
    assert one.prompt.count(one.code) == 1
    assert one.found_in(f" {one.code[:2]},{one.code[2:]}. What")
    assert not one.found_in(f" {int(one.code) - 1}")
    assert hidden(text, 1.0, random.Random(3)).prompt.count(one.code) == 1


def test_where_two_answers_part() -> None:
    assert same_until("a b c", "a b d") == 2
    assert same_until("a b", "a b c") == 2
