"""What a running engine says of itself, in engine-neutral words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Serving:
    """What the running engine says of itself. None: it did not say."""

    model: str | None = None
    version: str | None = None
    context_length: int | None = None
    pool_tokens: int | None = None
    largest_request_tokens: int | None = None  # prompt tokens of the largest request it accepts
    reserved_tokens: int = 0  # held back in every request for the tokens of a draft
    running_requests: int | None = None
    queued_requests: int | None = None
    pool_follows_window: bool = False  # it makes the pool as large as the window it is given
    slots: int = 1  # requests that share the window it was given; `context_length` is what one of them gets
    generation_tok_s: float | None = None  # of all streams, as last counted; it stays when they have ended
    settings: Mapping[str, str] = field(default_factory=dict)  # engine-neutral name → text, as reported
    refused: bool = False  # 401 or 403: the key is missing or wrong
