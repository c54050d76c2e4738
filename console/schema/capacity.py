"""Whether a context fits: the judgement that a plan carries, a record keeps and `console capacity` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from console.schema.names import Read

Verdict = Literal[
    "serves", "starts but cannot serve", "will not start", "beyond the model", "beyond the draft", "unknown"
]
# What a run must not begin with, by what it asks for. "unknown" never stops one: the run's proof decides.
STOPS: dict[str, frozenset[str]] = {
    "serve": frozenset({"starts but cannot serve", "will not start", "beyond the model", "beyond the draft"}),
    "start": frozenset({"will not start", "beyond the model", "beyond the draft"}),
}


class DecodeLaw(Read):
    """step(context) = intercept + slope x context, as a sweep measured it; `deepest_tokens`: where it was measured."""

    intercept_ms: float
    slope_ms: float  # a token of context
    deepest_tokens: int
    accept_lengths: tuple[float, ...] = ()  # least to most
    source: str = ""  # the run that measured it


class DecodeCost(Read):
    """What decoding costs at a depth, by a law measured at smaller ones."""

    context_tokens: int
    step_ms: float
    rates_tok_s: tuple[tuple[float, float], ...] = ()  # (accept length, tokens a second)
    extrapolated: float = 1.0  # times the deepest context that was measured
    source: str = ""
    text: str = ""


class Judgement(Read):
    """A window on one target. `pool_tokens` is predicted; `lines` are the arithmetic, one step a line."""

    verdict: Verdict
    sentence: str
    window_tokens: int | None = None
    pool_tokens: int | None = None
    pool_now_tokens: int | None = None
    largest_tokens: int | None = None  # the largest request, prompt and first token
    full_requests: float | None = None  # how many of full length fit at once
    cell_bytes: float | None = None  # a token, on one GPU
    lines: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    variable: str = ""  # the environment variable that would let it through
    decode: DecodeCost | None = None
    law: DecodeLaw | None = None  # what `decode` was reckoned with
    load_s: float | None = None  # predicted, start to ready


class Rung(Read):
    """One way to more context, and how far it leads. `lossy`: it may change what the model answers."""

    name: str
    sets: str = ""  # as `--set` takes it
    lossy: bool = False
    pool_tokens: int | None = None
    window_tokens: int | None = None  # the largest served
    full_requests: float | None = None  # of that length
    note: str = ""


class CapacityReport(Read):
    """What `console capacity` knows of one target."""

    target: str
    engine: str
    version: str = ""
    model: str = ""
    model_type: str = ""
    model_limit_tokens: int | None = None
    model_limit_how: str = ""
    draft_limit_tokens: int | None = None
    draft_limit_how: str = ""
    served_tokens: int | None = None  # the window now
    pool_tokens: int | None = None
    largest_tokens: int | None = None
    calibration: tuple[str, ...] = ()
    calibrated: bool | None = None
    judgement: Judgement | None = None
    rungs: tuple[Rung, ...] = Field(default=())
    missing: tuple[str, ...] = ()
    simulated: bool = False
