from __future__ import annotations

import pytest

from console.views.argv import changed_words, marked, near_changes


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


def test_a_run_shows_the_changes_with_the_word_before_each() -> None:
    before = ["python", "-m", "serve", "--length", "1", "--share", "0.8", "--port", "80"]
    after = [*before[:4], "2", *before[5:], "--type", "fp8"]
    assert " ".join(near_changes(before, after)) == "… --length [-1-]{+2+} … 80 {+--type+} {+fp8+}"
    assert near_changes(before, before) == []
    assert near_changes([], []) == []


def test_a_word_with_blanks_shows_as_one() -> None:
    assert marked(["a", '{"k": 1}', ""], ["a", '{"k": 2}', ""]) == ["a", "[-'{\"k\": 1}'-]{+'{\"k\": 2}'+}", "''"]


def test_without_a_command_line_before_there_is_nothing_to_compare() -> None:
    assert marked([], ["a", "--b"]) == ["a", "--b"]
