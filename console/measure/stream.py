"""Decode rate from the span of one streamed answer: the engine's own counts, our arrival times."""

from __future__ import annotations

import math

from console.analysis.statistics.stream import stream_rate
from console.measure.bench import Answer
from console.schema.cells import Estimate


def stream_estimate(answer: Answer, from_tokens: int, path_s: float = 0.0) -> Estimate:
    """Tokens over time between the first arrival past `from_tokens` and the last one; or why that is no rate.

    What the path may hold back, `path_s`, is its uncertainty at both ends. Chunks are never counted: one holds as many
    tokens as a step commits.
    """
    seen = [(at, tokens) for at, tokens in answer.stream if tokens >= from_tokens]
    if len(seen) < 2:
        return Estimate(method="stream", unusable="the answer was not streamed")
    first, last = seen[0][1], seen[-1][1]
    read = stream_rate([at for at, _ in seen], last, first_chunk_tokens=first, made_s=answer.read.server_time_s)
    if not math.isfinite(read.rate_tok_s):
        return Estimate(method="stream", unusable=read.unusable)
    tokens, span_s = last - first, (last - first) / read.rate_tok_s
    low, high = tokens / (span_s + path_s), tokens / max(span_s - path_s, 1e-9)
    return Estimate(method="stream", rate_tok_s=read.rate_tok_s, low=low, high=high)
