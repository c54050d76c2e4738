"""Concurrency against context, what a step commits by class of text, and the drafter's share: under a bottleneck."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console.schema.events import FindingMade
from console.views.figures import number
from console.views.tables import table


def room_lines(rooms: Sequence[FindingMade], accepts: Sequence[FindingMade], drafter: str | None) -> Iterator[str]:
    """Nothing for what is not known."""
    if rooms:
        timed = any("step_ms" in one.figures for one in rooms)
        rows = [
            [
                number(one.context_tokens) if isinstance(one.context_tokens, int) else "",
                number(one.value) if isinstance(one.value, int | float) else "",
                *([f"{one.figures['step_ms']:.1f}" if "step_ms" in one.figures else "n/a"] if timed else []),
            ]
            for one in rooms
        ]
        head = ["context", "at once", *(["step ms, one alone"] if timed else [])]
        yield from table(head, rows, right=range(len(head)))
    if accepts:
        yield "avg commit on record: " + ", ".join(f"{one.text_class} {one.value:.2f}" for one in accepts)
    if drafter is not None:
        yield f"drafter's share of a step: {drafter}"
