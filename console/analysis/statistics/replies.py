"""A reply as the estimators take it, and what its text says of it.

::

    Reply(tokens, seconds, steps=None, cached_tokens=None, prompt_tokens=None, text="")
    distinct_4grams(words) -> float
    is_prefix(short_text, long_text) -> bool
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

DEGENERATE_BELOW = 0.5  # distinct 4-grams of all: natural prose is above 0.9, a loop near 0


@dataclass(frozen=True)
class Reply:
    """One finished request as the server counted it; `seconds` by whichever clock the estimator uses."""

    tokens: int
    seconds: float
    steps: int | None = None
    cached_tokens: int | None = None
    prompt_tokens: int | None = None
    text: str = ""


def distinct_4grams(words: Sequence[str] | Sequence[int]) -> float:
    """Share of 4-grams that occur once over all of them; 1 for a text too short to repeat itself."""
    grams = [tuple(words[i : i + 4]) for i in range(len(words) - 3)]
    return len(set(grams)) / len(grams) if grams else 1.0


def is_prefix(short_text: str, long_text: str) -> bool:
    """At temperature 0 the short reply begins the long one; where it does not, the two took different paths."""
    return long_text.startswith(short_text.rstrip("\ufffd"))
