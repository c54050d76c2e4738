"""What a load came to, as one plain table: latencies and throughput by the number of streams."""

from __future__ import annotations

from collections.abc import Sequence

from console.results.measured_load import beside, name
from console.schema.loads import Level
from console.views.cells import wrap
from console.views.figures import number
from console.views.tables import table

HEAD = ("streams", "n", "ttft s", "itl ms", "e2e s", "tok/min/GPU", "")
TOLD = "ttft, itl, e2e: p50/p95 of n answers, to the first token, between tokens, to the end"


def load_lines(levels: Sequence[Level], width: int = 80) -> list[str]:
    """A line a level; nothing where no load was measured."""
    if not levels:
        return []
    rows = [row(level) for level in levels]
    texts = [f"{name(level)}: {told}" for level in levels if (told := beside(level))]
    more = [line for text in texts for line in wrap(text, width)]
    return [*table(HEAD, rows, width, right=(0, 1, 2, 3, 4, 5), wrapped=6), *wrap(TOLD, width), *more]


def row(level: Level) -> tuple[str, ...]:
    marks = [level.reason] if level.reason else []
    marks += [level.state] if level.state == "partial" else []
    marks += level.flags
    good = sum(not one.refused for one in level.requests)
    return (
        f"{level.per_s:g}/s" if level.per_s else str(level.streams),
        str(good),
        both(level, "ttft", "s", 2),
        both(level, "itl", "ms", 1),
        both(level, "e2e", "s", 1),
        "-" if level.tok_min_gpu is None else number(round(level.tok_min_gpu)),
        "; ".join(dict.fromkeys(marks)),
    )


def both(level: Level, word: str, unit: str, digits: int) -> str:
    """Median and p95 of one kind of time."""
    known = [level.figures.get(f"{word}_{share}_{unit}") for share in ("p50", "p95")]
    return "/".join("-" if value is None else f"{value:.{digits}f}" for value in known)
