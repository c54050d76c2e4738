"""Concurrency against context: what a pool holds at once, up to the engine's own limit."""

from __future__ import annotations

from console.analysis.capacity.room import Room, room
from console.schema.capacity import DecodeLaw


def test_contexts_double_up_to_the_window_and_the_engines_limit_holds() -> None:
    assert room(100_000, 20_000, most_running=16) == [Room(4096, 16), Room(8192, 12), Room(16384, 6), Room(20_000, 5)]
    assert room(30_000, 32_768)[-1] == Room(32_768, 0)


def test_a_long_window_shows_its_last_seven_with_their_step_by_the_law() -> None:
    law = DecodeLaw(intercept_ms=20.0, slope_ms=0.001, deepest_tokens=50_000, accept_lengths=(2.0,), source="a sweep")
    rows = room(2_000_000, 1_048_576, law=law)
    assert [one.context_tokens for one in rows] == [2**n for n in range(14, 21)]
    assert [one.at_once for one in rows][-1] == 1
    assert rows[0].step_ms == 20.0 + 16.384
