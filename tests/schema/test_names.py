"""Names and durations as files and the command line spell them."""

from __future__ import annotations

import pytest

from console.schema.names import NAME, nearest, seconds


@pytest.mark.parametrize("name", ["a", "gpu1", "k2.6", "A_b-c", "0x"])
def test_names(name: str) -> None:
    assert NAME.fullmatch(name)


@pytest.mark.parametrize("name", ["", ".", "..", ".git", "-a", "a/b", "a b", "a\n", "ä", "a" + chr(0)])
def test_what_is_no_name(name: str) -> None:
    assert not NAME.fullmatch(name)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("45s", 45.0),
        ("30m", 1800.0),
        ("1h30m", 5400.0),
        ("1h 30m", 5400.0),
        ("2d", 172800.0),
        ("250ms", 0.25),
        ("1.5s", 1.5),
        (7, 7),
        (0.5, 0.5),
    ],
)
def test_durations(text: object, value: float) -> None:
    assert seconds(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "soon", "5", "5 minutes", "-5s", "5s soon", "m5"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as 45s, 30m or 1h30m"):
        seconds(text)


def test_the_nearest_spelling_or_none() -> None:
    assert nearest("contxt_length", ["context_length", "mem_fraction"]) == "; did you mean 'context_length'?"
    assert nearest("zzz", ["context_length"]) == ""
