"""What the text of a reply says of it."""

from __future__ import annotations

from console.analysis.statistics.replies import distinct_4grams, is_prefix


def test_a_text_that_repeats_itself_is_told_from_prose() -> None:
    assert distinct_4grams(["again", "and", "again"] * 50) < 0.05
    assert distinct_4grams(list("the quick brown fox jumps over")) == 1.0
    assert distinct_4grams(["short"]) == 1.0


def test_a_short_reply_begins_the_long_one() -> None:
    assert is_prefix("one two", "one two three")
    assert is_prefix("caf\ufffd", "café au lait")  # cut inside a character
    assert not is_prefix("one 2", "one two three")
