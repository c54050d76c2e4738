from __future__ import annotations

import pytest

from console.views.argv import changed_words, marked


@pytest.mark.parametrize(
    ("before", "after", "shown", "count"),
    [
        ("a --b 1 --c 2", "a --b 9 --c 2", "a --b [-1-]{+9+} --c 2", 1),
        ("a --b 1", "a --b 1 --c 2", "a --b 1 {+--c+} {+2+}", 2),
        ("a --b 1 --c 2", "a --c 2", "a [---b-] [-1-] --c 2", 2),
        ("a --b=1", "a --b=2", "a [---b=1-]{+--b=2+}", 1),
        ("a b", "a b", "a b", 0),
    ],
)
def test_only_the_words_that_change_are_marked(before: str, after: str, shown: str, count: int) -> None:
    assert " ".join(marked(before.split(), after.split())) == shown
    assert changed_words(before.split(), after.split()) == count


def test_a_word_with_blanks_shows_as_one() -> None:
    assert marked(["a", '{"k": 1}', ""], ["a", '{"k": 2}', ""]) == ["a", "[-'{\"k\": 1}'-]{+'{\"k\": 2}'+}", "''"]


def test_without_a_command_line_before_there_is_nothing_to_compare() -> None:
    assert marked([], ["a", "--b"]) == ["a", "--b"]
