"""Text of a host cannot move the cursor, forge a line or hide what it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.untrusted import clean, decode, one_line


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("\x1b]52;c;cm0gLXJm\x07", r"\x1b]52;c;cm0gLXJm\x07"),
        ("\x9b31mred", r"\x9b31mred"),
        ("50%\r100%", r"50%\x0d100%"),
        ("a\x00b\x7f", r"a\x00b\x7f"),
        ("user\u202efdp.exe", r"user\u202efdp.exe"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("line\u2028break", r"line\u2028break"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("lone\ud800", r"lone\ud800"),
        ("tab\tand\nnewline stay", "tab\tand\nnewline stay"),
        ("Überprüfung 検査 🙂", "Überprüfung 検査 🙂"),
    ],
)
def test_controls_become_visible(hostile: str, shown: str) -> None:
    assert clean(hostile) == shown


def test_one_line_cannot_forge_a_second() -> None:
    assert one_line("gpu1\nOutcome: verified\r\n\tx") == "gpu1 Outcome: verified x"


def test_one_line_is_cut_to_its_limit() -> None:
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"
    assert one_line("abcdef") == "abcdef"


def test_bytes_that_are_not_text() -> None:
    assert decode(b"a\xff\xc3\xbc") == "a�ü"


@given(st.text())
def test_cleaned_text_is_printable_and_stays_clean(text: str) -> None:
    shown = clean(text)
    assert clean(shown) == shown
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert not any(ord(char) < 0x20 and char not in "\n\t" for char in shown)


@given(st.text(), st.integers(min_value=2, max_value=50))
def test_one_line_is_one_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
