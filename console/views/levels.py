"""The four levels of a setting, and everything that was seen of a target."""

from __future__ import annotations

from console.schema.events import LevelsRead
from console.views.figures import number

PLACES = ("disk", "loaded", "running", "serving")


def level_summary(event: LevelsRead) -> str:
    """`context_length: disk 200000, loaded 200000, running 32768 (differs), serving 32768, pool 101,134`."""
    said = []
    odd = first_difference(event)
    for place in PLACES:
        value = getattr(event, place)
        said.append(f"{place} {'n/a' if value is None else value}{' (differs)' if place == odd else ''}")
    if event.pool_tokens is not None:
        said.append(f"pool {number(event.pool_tokens)}")
    return f"{event.setting}: {', '.join(said)}"


def first_difference(event: LevelsRead) -> str | None:
    """The first level that says something else than the ones before it; None when they agree."""
    if event.agree:
        return None
    seen = None
    for place in PLACES:
        value = getattr(event, place)
        if value is None:
            continue
        if seen is not None and value != seen:
            return place
        seen = value
    return None
