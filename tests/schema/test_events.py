"""Events are lines that newer and older versions can read."""

from __future__ import annotations

import json

import pytest

from console.schema.events import EVENT_TYPES, ChangeIntended, Event, FindingMade, StepFinished, read_event
from tests.runs import stories


@pytest.mark.parametrize("name", stories.ALL)
def test_a_line_is_read_back_as_the_event_it_was(name: str) -> None:
    for event in stories.ALL[name]().events:
        line = json.loads(json.dumps(event.line()))
        assert list(line)[:6] == ["v", "seq", "ts", "run", "target", "type"]
        assert read_event(line) == event


def test_every_type_has_its_own_name() -> None:
    assert all(kind.type == name and issubclass(kind, Event) for name, kind in EVENT_TYPES.items())
    assert len(set(EVENT_TYPES.values())) == len(EVENT_TYPES)
    assert {kind for kind in Event.__subclasses__() if kind.__module__ == Event.__module__} == set(EVENT_TYPES.values())


def test_unknown_types_are_none_and_unknown_fields_are_ignored() -> None:
    assert read_event({"type": "moon.phase"}) is None
    assert read_event({}) is None
    read = read_event({"type": "step.finished", "step": "s", "uses": "u", "outcome": "ok", "colour": "red", "v": 9})
    assert isinstance(read, StepFinished)


@pytest.mark.parametrize(
    "line",
    [
        {"type": "step.finished"},
        {"type": "step.finished", "step": "s", "uses": "u", "outcome": "fine"},
        {"type": "change.made", "change": {"kind": "poem"}},
    ],
)
def test_a_known_type_that_lacks_what_it_must_have(line: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        read_event(line)


def test_a_change_travels_whole() -> None:
    change = stories.file_change()
    line = json.loads(json.dumps(ChangeIntended(change=change, step="set", kind="file").line()))
    read = read_event(line)
    assert isinstance(read, ChangeIntended)
    assert read.change == change


@pytest.mark.parametrize("value", [1, 1.5, "absent"])
def test_a_finding_keeps_the_type_of_its_value(value: float | int | str) -> None:
    read = read_event(json.loads(json.dumps(FindingMade(name="x", value=value).line())))
    assert isinstance(read, FindingMade)
    assert type(read.value) is type(value)
