"""Which replies may be counted: a short one, or one that found another prefix in the cache, makes no pair.

::

    Reply(tokens, seconds, steps=None, cached_tokens=None, prompt_tokens=None, text="")
    screen(replies, wanted_tokens) -> Screened(kept, refused)
    same_cache(short, long, *, share=0.01) -> bool
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


@dataclass(frozen=True)
class Refused:
    reply: Reply
    why: str


@dataclass(frozen=True)
class Screened:
    kept: tuple[Reply, ...]
    refused: tuple[Refused, ...]


def screen(replies: Sequence[Reply], wanted_tokens: int) -> Screened:
    """Keep the replies that have exactly the length asked for; the others are counted, never averaged in."""
    kept, refused = [], []
    for reply in replies:
        if reply.tokens < wanted_tokens:
            refused.append(Refused(reply, f"short: {reply.tokens} of {wanted_tokens} tokens"))
        elif reply.tokens > wanted_tokens:
            refused.append(Refused(reply, f"long: {reply.tokens} instead of {wanted_tokens} tokens"))
        elif reply.seconds <= 0:
            refused.append(Refused(reply, "no duration"))
        else:
            kept.append(reply)
    return Screened(tuple(kept), tuple(refused))


def same_cache(short: Sequence[Reply], long: Sequence[Reply], *, share: float = 0.01) -> bool:
    """Whether both arms found the same part of the prompt in the prefix cache, within `share` of the prompt.

    True as well when the server does not say: then nothing is known, and the caller says so.
    """
    known = [(reply.cached_tokens, reply.prompt_tokens) for reply in (*short, *long)]
    cached = [count for count, _ in known if count is not None]
    if len(cached) < 2:
        return True
    prompt = max((count for _, count in known if count is not None), default=max(cached))
    return max(cached) - min(cached) <= share * prompt


def distinct_4grams(words: Sequence[str] | Sequence[int]) -> float:
    """Share of 4-grams that occur once over all of them; 1 for a text too short to repeat itself."""
    grams = [tuple(words[i : i + 4]) for i in range(len(words) - 3)]
    return len(set(grams)) / len(grams) if grams else 1.0


def is_prefix(short_text: str, long_text: str) -> bool:
    """At temperature 0 the short reply begins the long one; where it does not, the two took different paths."""
    return long_text.startswith(short_text.rstrip("\ufffd"))
