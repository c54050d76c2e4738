"""The four levels of a setting, as one row or one sentence; the first that differs is the diagnosis."""

from __future__ import annotations

from collections.abc import Sequence

from console.schema.events import LevelsRead
from console.settings.levels import Level, Levels
from console.untrusted import one_line
from console.views.cells import ELLIPSIS, cells, cut, wrap
from console.views.figures import number
from console.views.tables import NARROWEST, table

PLACES = ("disk", "loaded", "running", "serving")
# What a first difference at a level means for an operator.
DIAGNOSIS = {
    "loaded": "systemd has not read the files since: needs a daemon-reload and a restart",
    "running": "the process was started before: takes effect at the next restart",
    "serving": "the engine does not serve what it was started with",
}
WIDEST_VALUE = 14
MARK = "! "  # beside the word below, so that a row alone already shows where to look


def levels_of_event(event: LevelsRead) -> Levels:
    """The levels as an event carries them."""
    seen = {place: Level(getattr(event, place), event.reasons.get(place, "")) for place in PLACES}
    return Levels(
        setting=event.setting,
        **seen,
        pool_tokens=event.pool_tokens,
        agree=event.agree,
        first_difference=first_difference(event),
    )


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


def level_summary(event: LevelsRead) -> str:
    """`context_length: disk 200000, loaded 200000, running 32768 (differs), serving 32768, pool 101,134`."""
    levels = levels_of_event(event)
    values = [level_value(levels, place) for place in PLACES]
    if levels.agree and len(set(values)) == 1:
        said = [f"{values[0]} at all four levels"]
    else:
        odd = levels.first_difference
        said = [
            f"{place} {value}{' (differs)' if place == odd else ''}"
            for place, value in zip(PLACES, values, strict=True)
        ]
    if event.pool_tokens is not None and event.setting == "context_length":
        said.append(f"pool {number(event.pool_tokens)}")
    return f"{event.named}: {', '.join(said)}"


def level_value(levels: Levels, place: str) -> str:
    """The value at one level; `-` where the flag is not given, `n/a` where the level cannot be seen."""
    level: Level = getattr(levels, place)
    if level.value is not None:
        return one_line(level.value)
    return "-" if level.is_seen else "n/a"


def levels_table(levels: Sequence[Levels], width: int = 80) -> list[str]:
    """One row a setting: disk, loaded, running, serving, and what the KV pool holds; below it what needs saying."""
    head = ("setting", *PLACES, "pool")
    rows = [_row(one) for one in levels]
    top, *body = table(head, rows, width, whole=(0, 5)) if rows else ("",)
    said = [top] if rows else []
    for one, row in zip(levels, body, strict=True):
        said.append(row)
        for text in notes(one, cut_off=ELLIPSIS in row):
            said += wrap(text, width, first="    ", rest="      ")
    return said


def _row(levels: Levels) -> tuple[str, ...]:
    values = []
    for place in PLACES:
        text = cut(level_value(levels, place), WIDEST_VALUE)
        values.append(MARK + text if place == levels.first_difference else text)
    pool = number(levels.pool_tokens) if levels.pool_tokens is not None else "n/a"
    return (levels.setting, *values, pool if levels.setting == "context_length" else "")


def notes(levels: Levels, *, cut_off: bool = False) -> list[str]:
    """What the row of a setting cannot say: the diagnosis, values that were cut off, why a level is not seen."""
    said = []
    if levels.first_difference is not None:
        said.append(f"{levels.first_difference} differs: {DIAGNOSIS.get(levels.first_difference, 'look closer')}")
    elif not levels.agree:
        said.append("the levels differ")
    values: dict[str, list[str]] = {}
    unseen: dict[str, list[str]] = {}
    for place in PLACES:
        level: Level = getattr(levels, place)
        if not level.is_seen:
            unseen.setdefault(one_line(level.reason) or "not seen", []).append(place)
        elif cut_off and level.value is not None and cells(one_line(level.value)) > NARROWEST:
            values.setdefault(one_line(level.value), []).append(place)
    said += [f"{', '.join(places)}: {value}" for value, places in values.items()]
    return said + [f"{', '.join(places)} n/a: {reason}" for reason, places in unseen.items()]
