"""A stream gives a rate only where the path lets it through as it is made."""

from __future__ import annotations

import math

import pytest

from console.analysis.statistics.stream import stream_rate


def test_a_free_path_gives_the_rate_whatever_the_chunks_hold() -> None:
    arrivals = [0.35 + 0.02 * step for step in range(188)]
    assert stream_rate(arrivals, 600, first_chunk_tokens=3).rate_tok_s == pytest.approx(597 / (187 * 0.02))


@pytest.mark.parametrize(
    ("arrivals", "tokens", "why"),
    [
        ([4.1 + 1e-5 * i for i in range(188)], 600, "buffered"),
        ([4.1 + 3e-3 * i for i in range(188)], 600, "88% of the time"),
        ([1.0 * (i // 20) for i in range(188)], 600, "buffered"),
        ([], 600, "buffered"),
        ([4.1], 600, "buffered"),
        ([0.02 * i for i in range(10)], 32, "needed"),
        ([0.35 + 0.02 * i for i in range(140)] + [9.0], 600, "stalled"),
    ],
)
def test_anything_else_gives_a_reason_and_no_number(arrivals: list[float], tokens: int, why: str) -> None:
    found = stream_rate(arrivals, tokens)
    assert math.isnan(found.rate_tok_s)
    assert why in found.unusable


def test_a_buffered_answer_that_took_long_to_read_is_told_by_the_engines_own_time() -> None:
    arrivals = [4.1 + 0.02 * step for step in range(188)]
    assert math.isfinite(stream_rate(arrivals, 600).rate_tok_s)
    assert "buffered" in stream_rate(arrivals, 600, made_s=4.05).unusable
    assert math.isfinite(stream_rate([at - 3.7 for at in arrivals], 600, made_s=4.05).rate_tok_s)
