"""How long a prompt may be on a target, and how much of its pool one stream of ours may take."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from console.engines.base import Engine
from console.schema.serving import Serving

# On a live target one cell takes at most this share of the pool, unless the operator says otherwise.
LIVE_SHARE = 0.10
_NUMBER = re.compile(r"(?P<digits>\d+(?:\.\d+)?)(?P<suffix>[kK]?|%)")


@dataclass(frozen=True)
class Limits:
    """`live`: requests of others were seen in the last minute, or cannot be seen."""

    engine: Engine
    context_length: int | None
    pool_tokens: int | None
    reserved_tokens: int = 0
    old_limit_tokens: int | None = None
    live: bool = False
    on_live: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, engine: Engine, serving: Serving, *, old: int | None, live: bool, on_live: bool) -> Limits:
        # A cache made as large as the window holds at least the share of the slot that answers.
        pool = serving.context_length if serving.pool_follows_window else None
        return cls(
            engine,
            serving.context_length,
            serving.pool_tokens if serving.pool_tokens is not None else pool,
            serving.reserved_tokens,
            old,
            live,
            on_live,
            serving.settings,
        )

    def most(self, output_tokens: int) -> int | None:
        """Prompt tokens of the largest request with this many output tokens; None where the window is not known."""
        if self.context_length is None:
            return None
        pool = self.pool_tokens if self.pool_tokens is not None else self.context_length
        return self.engine.largest_request(self.context_length, pool, output_tokens, self.reserved_tokens)

    def share(self, tokens: int) -> float | None:
        return tokens / self.pool_tokens if self.pool_tokens else None

    def too_much(self, tokens: int) -> str:
        """Why a request of this size is not sent to a live target; empty where it may be."""
        share = self.share(tokens)
        if not self.live or self.on_live or (share is not None and share <= LIVE_SHARE):
            return ""
        if share is None:
            return "the target is live and its pool is not known: --on-live sends it anyway"
        return f"{share:.0%} of the pool of a live target: above {LIVE_SHARE:.0%} only with --on-live"


class UnknownContextError(ValueError):
    """A context that is no number, percentage or name."""


def contexts_of(words: Sequence[str], limits: Limits, output_tokens: int) -> list[int]:
    """Prompt tokens each word means, each once, in order: `1663`, `8k`, `50%` of the largest, `old-limit`, `max`.

    Raises UnknownContextError.
    """
    found: list[int] = []
    for word in words:
        tokens = _context(word.strip(), limits, output_tokens)
        if tokens not in found:
            found.append(tokens)
    return found


def check_contexts(words: Sequence[str]) -> None:
    """What can be said of them without a target. Raises UnknownContextError."""
    for word in words:
        if word not in ("old-limit", "max") and not _NUMBER.fullmatch(word):
            raise UnknownContextError(f"{word!r} is no context: write tokens (1663, 8k), 50%, old-limit or max")
        if re.fullmatch(r"[0.]+[kK%]?", word):
            raise UnknownContextError(f"{word!r} is no context: a prompt has at least one token")


def _context(word: str, limits: Limits, output_tokens: int) -> int:
    check_contexts([word])
    most = limits.most(output_tokens)
    if word in ("old-limit", "max") or word.endswith("%"):
        if most is None:
            raise UnknownContextError(f"{word}: the engine does not say its window")
        if word == "old-limit":
            # Where it is not known what was served before, the whole window is the limit that there is.
            return min(limits.old_limit_tokens or most, most)
        return most if word == "max" else max(1, int(most * float(word[:-1]) / 100))
    match = _NUMBER.fullmatch(word)
    assert match is not None
    return max(1, int(float(match["digits"]) * (1000 if match["suffix"] else 1)))
