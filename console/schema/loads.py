"""A load of several streams, as it was measured: every request of a level, and what the server said meanwhile."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from console.schema.names import Read


class Sent(Read):
    """One request. Moments are seconds since the level began; counts are the engine's own."""

    scheduled_s: float
    sent_s: float
    first_s: float | None = None  # its first token arrived
    ended_s: float | None = None
    first_tokens: int = 0  # that came with the first arrival
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    known_prompt_tokens: int | None = None  # of its prompt, that earlier requests of a replay had
    finish: str = ""
    refused: str = ""


class ReplicaLoad(Read):
    """Requests at work on one data-parallel replica of a server, over the looks of a level."""

    name: str  # as the engine numbers it: dp0, engine 1
    running: float  # on average
    running_most: int | None = None


class Level(Read):
    """`streams` at once, or requests that arrive by themselves at `per_s`."""

    streams: int
    per_s: float = 0.0
    state: Literal["measured", "partial", "refused"] = "measured"
    reason: str = ""
    requests: tuple[Sent, ...] = ()
    window_s: float | None = None  # while nearly all streams were busy
    tok_min_gpu: float | None = None  # over that window
    gpus: int = 1
    running_most: int | None = None
    queued_most: int | None = None
    queued_usual: int | None = None  # the middle of all looks: a wave of beginnings is no queue
    pool_usage_most: float | None = None  # 0 to 1
    retracted: int | None = None  # requests taken back for lack of room meanwhile
    replicas: tuple[ReplicaLoad, ...] = ()  # empty: the engine does not say
    client_lag_ms: float | None = None  # p99 of how late our own loop was
    figures: dict[str, float] = Field(default_factory=dict)  # ttft_p50_s, itl_p95_ms, e2e_n: quantiles with their n
    flags: tuple[str, ...] = ()
