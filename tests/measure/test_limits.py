"""How much of a target's pool one stream of ours may take."""

from __future__ import annotations

from console.engines.registry import engine_named
from console.measure.limits import Limits
from console.schema.serving import Serving


def test_a_pool_that_follows_the_window_is_at_least_what_a_slot_gets() -> None:
    engine = engine_named("llamacpp")
    serving = Serving(context_length=8192, slots=4, pool_follows_window=True)
    limits = Limits.of(engine, serving, old=None, live=True, on_live=False)
    assert limits.too_much(800) == ""
    assert "10% only with --on-live" in limits.too_much(1000)


def test_a_pool_that_nobody_tells_is_not_guessed_on_a_live_target() -> None:
    serving = Serving(context_length=8192)
    limits = Limits.of(engine_named("vllm"), serving, old=None, live=True, on_live=False)
    assert "its pool is not known" in limits.too_much(10)
