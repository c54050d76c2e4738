"""A call or an object is judged by its form: a tool that was offered, its arguments, their types."""

from __future__ import annotations

import pytest

from console.analysis.workload.validity import JSON_QUESTIONS, call_fault, object_fault

GOOD = '{"city": "Lisbon", "unit": "celsius"}'


@pytest.mark.parametrize(
    ("calls", "fault"),
    [
        ([("get_weather", GOOD)], ""),
        ([("book_table", '{"restaurant": "Old Mill", "people": 7}')], ""),
        ([], "no tool was called"),
        ([("get_wether", GOOD)], "a tool that was not offered: get_wether"),
        ([("get_weather", GOOD[:-3])], "get_weather: no JSON"),
        ([("get_weather", f"[{GOOD}]")], "get_weather: no JSON object"),
        ([("get_weather", '{"city": "Lisbon"}')], "get_weather: without unit"),
        ([("get_weather", '{"city": "Lisbon", "unit": "kelvin"}')], "get_weather: unit is none of those allowed"),
        ([("get_weather", GOOD), ("book_table", '{"restaurant": "x", "people": "7"}')],
         "book_table: people is no integer"),
        ([("book_table", '{"restaurant": "x", "people": true}')], "book_table: people is no integer"),
        ([("book_table", '{"restaurant": "x", "people": 2, "when": "8"}')],
         "book_table: an argument that is none: when"),
        ([("get_weather", "[" * 100_000)], "get_weather: no JSON"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_call(calls: list[tuple[str, str]], fault: str) -> None:
    assert call_fault(calls) == fault


def test_an_object_needs_its_keys_and_may_have_more() -> None:
    assert object_fault('{"name": "a", "wheels": 2, "colours": [], "more": 1}', JSON_QUESTIONS[0][1]) == ""
    assert object_fault('{"name": "a"}', JSON_QUESTIONS[0][1]) == "without wheels, colours"
    assert object_fault('```json\n{"steps": []}\n```', JSON_QUESTIONS[3][1]) == "no JSON"
