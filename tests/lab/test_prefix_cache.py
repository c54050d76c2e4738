"""What the simulated engine need not prefill again."""

from __future__ import annotations

from array import array

from console.lab.simulator.prefix_cache import PrefixCache, common_prefix


def tokens(*parts: range) -> array[int]:
    return array("I", [token for part in parts for token in part])


def test_common_prefix_at_both_ends_and_between() -> None:
    one = tokens(range(1000))
    assert common_prefix(one, tokens(range(1000))) == 1000
    assert common_prefix(one, tokens(range(617), range(5000, 5400))) == 617
    assert common_prefix(one, tokens(range(1, 1000))) == 0


def test_the_last_token_is_always_computed() -> None:
    cache = PrefixCache()
    cache.insert(tokens(range(100)), room=1000)
    assert cache.match(tokens(range(100))) == 99
    assert cache.match(tokens(range(200))) == 100


def test_a_shared_beginning_is_held_once() -> None:
    cache = PrefixCache()
    cache.insert(tokens(range(100)), room=1000)
    cache.insert(tokens(range(100), range(900, 950)), room=1000)
    cache.insert(tokens(range(50), range(700, 720)), room=1000)
    assert cache.tokens == 170


def test_the_least_recently_used_goes_first() -> None:
    cache = PrefixCache()
    cache.insert(tokens(range(100)), room=250)
    cache.insert(tokens(range(1000, 1100)), room=250)
    cache.match(tokens(range(100)))
    cache.insert(tokens(range(2000, 2100)), room=250)
    assert cache.match(tokens(range(1000, 1100))) == 0
    assert cache.match(tokens(range(100))) == 99


def test_nothing_is_left_after_a_flush() -> None:
    cache = PrefixCache()
    cache.insert(tokens(range(100)), room=250)
    cache.clear()
    assert cache.match(tokens(range(100))) == 0
    assert cache.tokens == 0
