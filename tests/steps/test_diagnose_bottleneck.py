"""A measured level in the figures that a limit is told from."""

from __future__ import annotations

import pytest

from console.schema.loads import Level, Sent
from console.steps.diagnose_bottleneck import seen_of


def test_medians_of_what_was_answered_whole() -> None:
    sent = [
        Sent(
            scheduled_s=0.0,
            sent_s=0.0,
            first_s=ttft,
            ended_s=ttft + 2.0,
            first_tokens=1,
            prompt_tokens=1000,
            completion_tokens=101,
            cached_tokens=250,
        )
        for ttft in (0.1, 0.2, 0.9)
    ]
    sent.append(sent[0].model_copy(update={"refused": "ended early", "ended_s": 99.0}))
    level = Level(streams=4, requests=tuple(sent), pool_usage_most=0.5, queued_most=2, client_lag_ms=1.0)
    seen = seen_of(level)
    assert (seen.streams, seen.ttft_s, seen.e2e_s, seen.hit) == (4.0, 0.2, 2.2, 0.25)
    assert seen.gap_s == pytest.approx(0.02)
    assert (seen.pool, seen.queued, seen.lag_ms) == (0.5, 2, 1.0)
    assert seen_of(level.model_copy(update={"queued_usual": 0})).queued == 0
    assert seen_of(Level(streams=1, per_s=5.0, running_most=7)).streams == 7.0
