"""Where accept_length comes from, best source first: per request, counters of the engine, its log."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from console.analysis.statistics.acceptance import accept_from_drafts, split
from console.facts.watch import Watch
from console.measure.pairs import Pairs


@dataclass(frozen=True)
class Accepted:
    """Tokens a step commits, its source, and the step time that follows, milliseconds; nan where nothing says it."""

    accept_length: float
    source: str
    step_ms: float
    step_low: float = math.nan
    step_high: float = math.nan
    flags: tuple[str, ...] = ()


def accepted_of(pairs: Pairs, rate_tok_s: float) -> Accepted:
    """The best source that there is; `rate_tok_s` gives the step where only accept_length is known."""
    clock = "server" if pairs.timed_by_server else "client"
    parts = split(pairs.short(clock), pairs.long(clock), confidence=0.98)
    if parts is not None:
        flags = ("rate is not accept_length over step",) if parts.identity_error > 0.005 else ()
        return Accepted(
            parts.accept_length.value,
            "per-request",
            parts.step_ms.value,
            parts.step_ms.low,
            parts.step_ms.high,
            flags,
        )
    speculates = pairs.bench.measuring.speculates(pairs.bench.limits.settings)
    for value, source in ((counted(pairs), "counters"), (logged(pairs.bench.watched), "log")):
        if value is not None and speculates is not False:
            return Accepted(value, source, 1000 * value / rate_tok_s, flags=(f"accept_length from {source}",))
    if not speculates:
        return Accepted(1.0, "no-speculation", 1000 / rate_tok_s)
    return Accepted(math.nan, "", math.nan, flags=("accept_length unknown",))


def counted(pairs: Pairs) -> float | None:
    """Tokens a step committed over the kept pairs, as the engine counted; None where it counts no steps.

    An engine's own iterations come first: steps without a draft are not among those that speculation counts. The first
    token of each answer is its prefill's, and no step's.
    """
    if not pairs.counted or len(pairs.counted) < len(pairs.kept):
        return None
    answers = 2 * len(pairs.counted)
    tokens = total(one.generated_tokens for one in pairs.counted)
    iterations = total(one.iterations for one in pairs.counted)
    steps = total(one.steps for one in pairs.counted)
    accepted = total(one.accepted for one in pairs.counted)
    if tokens is not None and iterations is not None and iterations > answers:
        return (tokens - answers) / (iterations - answers)
    if not steps:
        return None
    if accepted is not None:
        return accept_from_drafts(accepted, steps)
    return None if tokens is None else (tokens - answers) / steps


def total(values: Iterable[float | None]) -> float | None:
    """Their sum; None when one of them is not known."""
    found = list(values)
    return None if None in found else sum(value or 0.0 for value in found)


def logged(watched: Sequence[Watch]) -> float | None:
    """The mean of what the engine logged every few dozen steps while it was measured."""
    values = [
        float(line.values["accept_len"])
        for seen in watched
        for line in seen.lines
        if line.kind == "decode" and isinstance(line.values.get("accept_len"), int | float)
    ]
    return mean(values) if values else None
