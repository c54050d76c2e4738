"""What was measured, as it was measured: the cells of a measurement with every request they are made of."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from console.schema.names import Read

CellState = Literal["measured", "partial", "refused"]


class Arm(Read):
    """One request. Counts are the engine's own; `refused` says why it does not count."""

    order: int  # in which they were sent, from 1
    output_tokens: int  # asked for
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    client_s: float = 0.0  # from sending it to the end of its answer
    server_s: float | None = None  # as the engine timed it
    steps: int | None = None  # decode steps
    accepted: tuple[int, ...] = ()  # of these, those that accepted 0, 1, 2 … tokens of their draft
    finish: str = ""
    sm_mhz: float | None = None  # the GPUs' clock in the middle of it
    temperature_c: float | None = None  # of the hottest
    power_w: float | None = None  # of all together
    refused: str = ""


class Estimate(Read):
    """A decode rate by one way of measuring; `unusable` says why there is none."""

    method: Literal["server", "client", "stream"]
    rate_tok_s: float | None = None
    low: float | None = None
    high: float | None = None
    unusable: str = ""


class Cell(Read):
    """One prompt at one length, measured by pairs of a short and a long answer.

    `at_tokens` is where its step time belongs: the prompt and half of both answers. `rate_*` in tokens a second,
    `step_*` in milliseconds, `accept_length` in tokens a step.
    """

    name: str
    step: Literal["decode", "sweep"]
    text_class: str
    cache: Literal["warm", "cold"] = "warm"
    state: CellState = "measured"
    reason: str = ""  # why it is refused or partial
    asked_tokens: int | None = None
    context_tokens: int | None = None
    at_tokens: float | None = None
    short_tokens: int = 0
    long_tokens: int = 0
    rate_tok_s: float | None = None
    rate_low: float | None = None
    rate_high: float | None = None
    step_ms: float | None = None
    step_low: float | None = None
    step_high: float | None = None
    accept_length: float | None = None
    accept_source: str = ""
    method: str = ""
    confidence: float | None = None
    naive_tok_s: float | None = None  # tokens over time of one whole long answer, as commonly quoted
    estimates: tuple[Estimate, ...] = ()
    agree: bool | None = None  # None: fewer than two estimates
    pairs: int = 0
    refused_pairs: int = 0
    reasons: dict[str, int] = Field(default_factory=dict)  # why pairs were refused
    round_trip_ms: float | None = None
    warm_up: int | None = None  # requests before answers were steady; in the first cell on a process only
    natural_end: int | None = None  # output tokens after which the text would have ended by itself
    distinct_4grams: float | None = None  # share of four-word sequences of the answer that occur once only
    text_sha256: str = ""
    draft_positions: tuple[float, ...] = ()  # how often each token of a draft was accepted, the first one first
    flags: tuple[str, ...] = ()
    arms: tuple[Arm, ...] = ()
