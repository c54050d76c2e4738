"""References: only names between the braces, known before a host is asked, values with their type."""

from __future__ import annotations

import pytest

from console.errors import InvalidFileError
from console.planning import references

KNOWN = references.known_names(["to", "mem-fraction"])


@pytest.mark.parametrize("text", ["{{ to }}", "{{to}}", "x {{ host.name }} {{ facts.running_requests }}", "plain"])
def test_known_names_pass(text: str) -> None:
    references.check(text, KNOWN, where="f")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ too }}", "did you mean 'to'"),
        ("{{ facts.running_request }}", "did you mean 'facts.running_requests'"),
        ("{{ to + 1 }}", "only a name"),
        ("{{ to | upper }}", "only a name"),
        ("{{ a.b.c }}", "only a name"),
        ("{{ }}", "only a name"),
        ("{{ to", "not closed"),
    ],
)
def test_anything_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidFileError, match=said):
        references.check({"key": [text]}, KNOWN, where="f")


def test_a_single_reference_keeps_its_type() -> None:
    values = {"to": 200000, "flag": True, "name": "x", "facts.model": None}
    assert references.render("{{ to }}", values) == 200000
    assert references.render("{{ flag }}", values) is True
    assert references.render("to={{ to }} {{ flag }}", values) == "to=200000 true"
    assert references.render(["{{ name }}", {"k": "{{ to }}"}], values) == ["x", {"k": 200000}]


def test_an_unknown_fact_renders_as_unknown() -> None:
    values = {"facts.model": None}
    assert references.render("{{ facts.model }}", values) == "unknown"
    assert references.render("<{{ facts.model }}>", values) == "<unknown>"


@pytest.mark.parametrize(
    ("when", "value", "holds"),
    [
        ("a", "x", True),
        ("a", "", False),
        ("a", 0, False),
        ("a", False, False),
        ("not a", "", True),
        ("not a", 1, False),
    ],
)
def test_when(when: str, value: object, holds: bool) -> None:
    assert references.holds(when, {"a": value}) is holds
