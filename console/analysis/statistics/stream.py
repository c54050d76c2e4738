"""Decode rate from the span of one streamed reply, where the path lets a stream through as it is made.

::

    stream_rate(arrivals_s, tokens, *, first_chunk_tokens=1, made_s=None) -> StreamRate(rate_tok_s, unusable)
        arrivals_s: when each chunk with content came, since the request was sent; rate_tok_s is nan where `unusable`
        says why
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from console.analysis.statistics.estimate import numbers

LEAST_TOKENS = 256  # below, the tokens bundled in the first chunk weigh too much: +6.9 % at 32 tokens and 3 in it
LEAST_BURSTS = 16
# Chunks nearer to each other than this share of their mean distance came together.
BURST_GAP = 0.1
# A first chunk later than this share of the whole time was held back (or prefill took so long that the span is short).
LATE_FIRST = 0.8
# The longest silence may not be most of the stream: a path that gives it out in a few pieces says nothing of its pace.
LONGEST_GAP = 0.5


@dataclass(frozen=True)
class StreamRate:
    rate_tok_s: float
    unusable: str = ""


def stream_rate(
    arrivals_s: Sequence[float], tokens: int, *, first_chunk_tokens: int = 1, made_s: float | None = None
) -> StreamRate:
    """(tokens - first chunk's) / (last - first arrival), never from the number of chunks.

    A buffering proxy hands out everything at the end: then there is no span to divide by, and no number is given.
    `made_s`: how long the engine says it worked on the answer. A large answer handed out at once takes its time to be
    read, so that the span alone may look fine; a first chunk that came when the engine was done does not.
    """
    arrivals = sorted(numbers(arrivals_s, "arrivals", 0))
    if tokens < LEAST_TOKENS:
        return StreamRate(math.nan, f"{tokens} tokens, {LEAST_TOKENS} are needed")
    if not arrivals:
        return StreamRate(math.nan, "buffered on the way: no chunk with content came before the end")
    span = arrivals[-1] - arrivals[0]
    gaps = [b - a for a, b in pairwise(arrivals)]
    bursts = 1 + sum(gap > BURST_GAP * span / len(gaps) for gap in gaps)
    if bursts < LEAST_BURSTS:
        return StreamRate(math.nan, f"buffered on the way: {len(arrivals)} chunks came in {bursts} bursts")
    whole = arrivals[-1] if made_s is None else min(made_s, arrivals[-1])
    if arrivals[0] > LATE_FIRST * whole:
        late = f"the first chunk came after {arrivals[0] / whole:.0%} of the time"
        return StreamRate(math.nan, f"buffered on the way: {late}")
    if max(gaps) > LONGEST_GAP * span:
        return StreamRate(math.nan, f"stalled on the way: {max(gaps):.1f} s of {span:.1f} s without a chunk")
    return StreamRate((tokens - first_chunk_tokens) / span)
