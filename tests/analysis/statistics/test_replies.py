"""Which replies make a pair, and what shows that a text is not worth measuring with."""

from __future__ import annotations

from console.analysis.statistics.replies import Reply, distinct_4grams, is_prefix, same_cache, screen


def test_replies_of_another_length_are_counted_and_left_out() -> None:
    sent = [Reply(600, 4.1), Reply(212, 1.7), Reply(601, 4.1), Reply(600, 0.0)]
    found = screen(sent, 600)
    assert found.kept == (sent[0],)
    assert [refused.why for refused in found.refused] == [
        "short: 212 of 600 tokens",
        "long: 601 instead of 600 tokens",
        "no duration",
    ]


def test_arms_that_found_different_prefixes_are_no_pair() -> None:
    primed = [Reply(32, 0.5, cached_tokens=4096, prompt_tokens=4100)] * 4
    cold = [Reply(600, 4.0, cached_tokens=0, prompt_tokens=4100)]
    nearly = [Reply(600, 4.0, cached_tokens=4080, prompt_tokens=4100)]
    unknown = [Reply(600, 4.0)]
    assert not same_cache(primed, cold)
    assert same_cache(primed, nearly)
    assert same_cache([Reply(32, 0.5)], unknown)


def test_a_text_that_repeats_itself_is_told_from_prose() -> None:
    assert distinct_4grams(["again", "and", "again"] * 50) < 0.05
    assert distinct_4grams(list("the quick brown fox jumps over")) == 1.0
    assert distinct_4grams(["short"]) == 1.0


def test_a_short_reply_begins_the_long_one() -> None:
    assert is_prefix("one two", "one two three")
    assert is_prefix("caf\ufffd", "café au lait")  # cut inside a character
    assert not is_prefix("one 2", "one two three")
