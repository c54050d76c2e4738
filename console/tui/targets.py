"""A target as a row of the fleet: its unit's state, the four levels of its window, the pool, and how old that is."""

from __future__ import annotations

from console.engines.registry import engine_named
from console.errors import ConnectError
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.settings.levels import Levels
from console.steps.levels import levels_of
from console.tui.session import Seen
from console.views.cells import wrap
from console.views.facts import facts_text
from console.views.figures import duration, number
from console.views.levels import PLACES, level_value

HEAD = ("", "TARGET", "UNIT", "DISK", "LOADED", "RUNNING", "SERVING", "POOL", "AGE")
WINDOW = "context_length"
SETTINGS = (WINDOW, "mem_fraction", "kv_cache_dtype")
# Older than this a look says how it was, not how it is.
STALE_S = 300.0

OK, BUSY, BAD, UNKNOWN, OFF = "ok", "..", "!!", "??", "--"


def row(target: Target, seen: Seen, now: float) -> tuple[str, ...]:
    """The cells of `HEAD`. What could not be read shows as `--`, never as the last value that was."""
    if seen.facts is None or seen.error is not None:
        word = "reading" if seen.reading else "not read" if seen.error is None else trouble(seen)
        glyph = BUSY if seen.reading else UNKNOWN
        return (glyph, target.name, word, *("--",) * len(PLACES), "--", age(seen, now))
    glyph, word = state(seen.facts)
    if now - seen.at > STALE_S:
        glyph = UNKNOWN
    levels = window(target, seen.facts)
    values = [value(levels, place) for place in PLACES]
    pool = "n/a" if levels.pool_tokens is None else number(levels.pool_tokens)
    return (glyph, target.name, word, *values, pool, age(seen, now))


def window(target: Target, facts: Facts) -> Levels:
    return levels_of(facts, engine_named(target.service.engine), WINDOW)


def value(levels: Levels, place: str) -> str:
    """The value at a level, marked where it is the first that differs."""
    text = level_value(levels, place)
    return f"!{text}" if place == levels.first_difference else text


def state(facts: Facts) -> tuple[str, str]:
    """Glyph and word of a unit."""
    unit = facts.unit
    if unit.load_state not in ("loaded", ""):
        return BAD, unit.load_state
    if unit.active_state == "failed":
        return BAD, "failed"
    if unit.active_state in ("activating", "deactivating", "reloading"):
        return BUSY, unit.active_state
    if unit.active_state != "active":
        return OFF, unit.active_state or "unknown"
    if facts.serving is None:
        return BUSY, "no answer"
    return (BAD, "key refused") if facts.serving.refused else (OK, "active")


def trouble(seen: Seen) -> str:
    """One word for why a target could not be read."""
    return "unreachable" if isinstance(seen.error, ConnectError) else "refused"


def age(seen: Seen, now: float) -> str:
    """How old the last good look is."""
    if seen.reading:
        return "now…"
    return "never" if seen.facts is None else duration(max(0.0, now - seen.at)) if now - seen.at >= 1 else "0s"


def counts(rows: list[tuple[str, ...]]) -> str:
    """`3 targets: 2 ok, 1 !!`."""
    said = [f"{number_of} {glyph}" for glyph in (OK, BUSY, BAD, UNKNOWN, OFF) if (number_of := _count(rows, glyph))]
    return f"{len(rows)} target{'' if len(rows) == 1 else 's'}: {', '.join(said)}"


def _count(rows: list[tuple[str, ...]], glyph: str) -> int:
    return sum(1 for cells in rows if cells[0] == glyph)


def detail(target: Target, seen: Seen, now: float, width: int) -> str:
    """Everything that was seen of one target, as `console facts` shows it; first why the last look failed."""
    said: list[str] = []
    if seen.error is not None:
        for line in str(seen.error).splitlines():
            said += wrap(line, width)
    if seen.facts is None:
        return "\n".join(said or [f"{target.name}: {'reading' if seen.reading else 'not read yet'}"])
    if seen.error is not None:
        said += ["", f"before that, {age(seen, now)} ago:"]
    engine = engine_named(target.service.engine)
    levels = [levels_of(seen.facts, engine, name) for name in SETTINGS]
    return "\n".join([*said, facts_text(seen.facts, levels, width)])
