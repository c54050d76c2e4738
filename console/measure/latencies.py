"""What the requests of a load took: to the first token, between tokens, to the end; quantiles with their n.

Times to the first token and to the end count from the moment a request should have been sent, so that a server which
holds up the next request cannot hide it (coordinated omission). Between two tokens is a request's span over the
engine's own count, never over chunks.
"""

from __future__ import annotations

from collections.abc import Sequence

from console.analysis.statistics.quantiles import least_for, quantile
from console.analysis.workload.bands import Served
from console.schema.loads import Sent

SHARES = (0.5, 0.95)


def between_tokens_s(one: Sent) -> float | None:
    """Mean time between two tokens of a request, seconds; None where its span or the engine's count is not known."""
    if one.refused or one.first_s is None or one.ended_s is None or not one.completion_tokens:
        return None
    tokens = one.completion_tokens - one.first_tokens
    return (one.ended_s - one.first_s) / tokens if tokens > 0 and one.ended_s > one.first_s else None


def served(one: Sent, known: int | None = None) -> Served | None:
    """A request as the bands take it; None where it was not answered whole. `known`: tokens an ideal cache has."""
    if one.refused or one.first_s is None or one.ended_s is None:
        return None
    return Served(
        began_s=one.scheduled_s,
        ended_s=one.ended_s,
        ttft_s=one.first_s - one.scheduled_s,
        gap_s=between_tokens_s(one),
        input=one.prompt_tokens or 0,
        output=one.completion_tokens or 0,
        known=(one.cached_tokens or 0) if known is None else known,
        cached=one.cached_tokens,
    )


def figures_of(sent: Sequence[Sent]) -> tuple[dict[str, float], tuple[str, ...]]:
    """Figures by name (`ttft_p50_s`, `itl_p95_ms`, `e2e_n`), and what is to be said of quantiles with too few values.

    An order-statistic interval needs 72 values for a p95; with fewer it is told as the largest of so many.
    """
    good = [one for one in sent if not one.refused]
    times = {
        "ttft": [one.first_s - one.scheduled_s for one in good if one.first_s is not None],
        "itl": [gap for one in good if (gap := between_tokens_s(one)) is not None],
        "e2e": [one.ended_s - one.scheduled_s for one in good if one.ended_s is not None],
    }
    figures: dict[str, float] = {}
    said: list[str] = []
    for word, values in times.items():
        for share in SHARES if values else ():
            found = quantile(values, share)
            scale, unit = (1000, "ms") if word == "itl" else (1, "s")
            figures[f"{word}_p{share * 100:.0f}_{unit}"] = round(found.value * scale, 4)
            few = f", {least_for(share)} are needed"
            said += [f"p{share * 100:.0f} is {flag}{few}" for flag in found.flags if flag.startswith("max")]
        figures[f"{word}_n"] = float(len(values))
    return figures, tuple(dict.fromkeys(said))
