from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from console.untrusted import clean
from console.views.cells import cells, cut, pad, wrap


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("abc", 3), ("é", 1), ("e\u0301", 1), ("模型", 4), ("가", 2), ("→", 1), ("✅", 2)]
)
def test_the_width_of_text_is_that_of_the_terminal(text: str, width: int) -> None:
    assert cells(text) == width == cell_len(text)


def test_cutting_leaves_a_sign_and_never_half_a_character() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("模型模型", 4) == "模…"
    assert cut("abc", 0) == ""
    assert pad("模", 4) == "模  "
    assert pad("7", 3, right=True) == "  7"


def test_wrapped_lines_hang_under_the_first() -> None:
    assert wrap("one two three", 12, first="  a: ") == ["  a: one two", "     three"]
    assert wrap("one\ntwo", 20, first="- ", rest="> ") == ["- one", "> two"]
    assert wrap("", 20, first="- ") == ["- "]


@given(st.text(), st.integers(min_value=16, max_value=90), st.sampled_from(["", "  ", " LABEL  "]))
def test_any_text_is_wrapped_whole_and_within_the_width(text: str, width: int, first: str) -> None:
    said = wrap(text, width, first=first)
    assert all(cells(line) <= width for line in said)
    assert "".join("".join(line[len(first) :].split()) for line in said) == "".join(
        clean(text.replace("\r\n", "\n")).split()
    )
