"""The shape of a workload as `console workload profile` gives it: distributions, never a request or its text."""

from __future__ import annotations

from console.schema.names import Read


class Distribution(Read):
    """Quantiles linear between order statistics; `most` is the largest value."""

    n: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    most: float


class PrefixReuse(Read):
    """What a prefix cache that never forgets would have had.

    `share`: tokens of prompts, 0 to 1. `without_common`: the same without blocks that nearly every request begins with.
    `by_share`: requests by known share of their prompt, in bins of 5 %, of the first `exact_requests`.
    """

    block_tokens: int
    share: float
    share_without_common: float | None = None
    common_blocks: int = 0
    any_share: float | None = None
    by_share: tuple[int, ...] = ()
    exact_requests: int = 0
    blocks_sampled: float = 1.0


class Heat(Read):
    """Requests by input and output tokens: `requests[i][j]` from `input_from[i]` and `output_from[j]` to the next."""

    input_from: tuple[int, ...]
    output_from: tuple[int, ...]
    requests: tuple[tuple[int, ...], ...]


class WorkloadProfile(Read):
    """The whole shape. `at_once` is weighted by time, `ratio` is input tokens for each output token.

    `gap_variation`: 1 is arrival by chance; None where the trace's clock steps by `clock_step_s`.
    """

    files: tuple[str, ...] = ()
    kind: str = ""
    lines: int = 0
    requests: int
    failed: int = 0
    other_lines: int = 0
    own_requests: int = 0  # of our own measurements, left out
    span_s: float = 0.0
    per_s: float | None = None
    input_tokens: Distribution
    output_tokens: Distribution
    ratio: float | None = None
    gap_s: Distribution | None = None
    gap_variation: float | None = None
    clock_step_s: float | None = None
    latency_s: Distribution | None = None
    at_once: Distribution | None = None
    sessions: int = 0
    turns: Distribution | None = None
    sessions_at_once: Distribution | None = None
    reuse: PrefixReuse | None = None
    cached_share: float | None = None
    heat: Heat
    bad: tuple[str, ...] = ()
    bad_lines: int = 0
    told: tuple[str, ...] = ()
