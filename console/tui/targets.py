"""A target as a row of the fleet: its state, the four levels of its window, what it does now, and how old that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from console.errors import ConnectError
from console.tui.session import Seen
from console.tui.table import Column, Row

if TYPE_CHECKING:
    from console.runs.listing import RunSummary
    from console.schema.facts import Facts
    from console.schema.hosts import Target

# The highest number is dropped first when it gets narrow; target, state, what is served and the age always stay.
COLUMNS = (
    Column("", 2),
    Column("TARGET", 12, grow=True),
    Column("STATE", 11),
    Column("DISK", 7, drop=3),
    Column("LOADED", 7, drop=4),
    Column("RUNNING", 8, drop=2),
    Column("SERVING", 8),
    Column("POOL", 9, drop=5),
    Column("GPU MEM", 11, drop=6),
    Column("LOAD", 4, drop=9),
    Column("REQ", 5, drop=7),
    Column("TOK/S", 5, drop=8),
    Column("NOTE", 11, drop=10, grow=True),
    Column("SINCE", 12, drop=11),
    Column("ENGINE", 9, drop=12),
    Column("XID", 4, drop=13),
    Column("AGE", 4),
)
# Older than this a look says how it was, not how it is.
STALE_S = 90.0
AGE_STEP_S = 5.0

OK, BUSY, BAD, UNKNOWN, OFF = "ok", "..", "!!", "??", "--"
ORDER = (BAD, UNKNOWN, BUSY, OFF, OK)
STYLES = {OK: "green", BUSY: "yellow", BAD: "bold red", UNKNOWN: "bold magenta", OFF: "dim"}
NONE = "--"


def unread_row(name: str) -> Row:
    """The row of a target of which nothing but the name is known yet."""
    cells = {column.name: NONE for column in COLUMNS} | {"": BUSY, "TARGET": name, "STATE": "reading", "AGE": "never"}
    return Row(name, cells, {"": STYLES[BUSY], "STATE": STYLES[BUSY]}, (0, name))


def fleet_row(
    target: Target,
    seen: Seen,
    now: float,
    runs: Mapping[str, RunSummary],
    values: Callable[[Target, Facts], dict[str, str]],
) -> Row:
    """The row of a target. What could not be read shows as `--`, never as the last value that was.

    `runs` are the newest of this machine by target, `values` the cells that a look fills.
    """
    glyph, word = standing(seen, now)
    cells = {"": glyph, "TARGET": target.name, "STATE": word, "AGE": age(seen, now), "NOTE": note(target, seen, runs)}
    empty = dict.fromkeys((column.name for column in COLUMNS if column.name not in cells), NONE)
    if seen.facts is not None and not _blind(seen, now):
        empty |= values(target, seen.facts)
    return Row(
        target.name, cells | empty, {"": STYLES[glyph], "STATE": STYLES[glyph]}, (ORDER.index(glyph), target.name)
    )


def standing(seen: Seen, now: float) -> tuple[str, str]:
    """Glyph and word."""
    if seen.held and seen.facts is None:
        return BUSY, "measured"
    if seen.error is not None:
        return UNKNOWN, trouble(seen)
    if seen.facts is None:
        return BUSY, "reading"  # or about to be: hundreds are not begun in one go
    if seen.held:
        return BUSY, "measured"
    if now - seen.at > STALE_S:
        return UNKNOWN, "stale"
    from console.tui.target_values import state

    return state(seen.facts)


def _blind(seen: Seen, now: float) -> bool:
    """Whether the last good look no longer says how it is."""
    return seen.error is not None or (not seen.held and now - seen.at > STALE_S)


def short(seconds: float) -> str:
    """`12s`, `5m`, `3h`, `9d`."""
    for limit, size, unit in ((90, 1, "s"), (5400, 60, "m"), (129600, 3600, "h")):
        if seconds < limit:
            return f"{max(0, int(seconds // size))}{unit}"
    return f"{int(seconds // 86400)}d"


def note(target: Target, seen: Seen, runs: Mapping[str, RunSummary]) -> str:
    """What waits for somebody here, the most urgent first: a run, an open change, a lock."""
    summary = runs.get(target.name)
    if summary is not None and summary.alive:
        return f"run {summary.id[-6:]}"
    if summary is not None and (target.name in summary.open_targets or summary.needs_recover):
        return f"OPEN {summary.id[-6:]}"
    facts = seen.facts
    if facts is None or seen.error is not None:
        return ""
    from console.tui.target_values import held_by

    return held_by(facts) or ("protected" if target.protected else "")


def trouble(seen: Seen) -> str:
    """One word for why a target could not be read."""
    return "unreachable" if isinstance(seen.error, ConnectError) else "refused"


def age(seen: Seen, now: float) -> str:
    """How old the last good look is; below a minute in steps, so that a table of hundreds is not drawn each second."""
    if seen.facts is None:
        return "never"
    seconds = max(0.0, now - seen.at)
    return short(seconds if seconds >= 60 else seconds // AGE_STEP_S * AGE_STEP_S)


def passing(seen: Seen, now: float) -> tuple[str, bool]:
    """All of a row that changes with nothing but time."""
    return age(seen, now), _blind(seen, now)


def counts(rows: list[Row]) -> str:
    """`3 targets: 2 ok 1 !!`."""
    said = [f"{many} {glyph}" for glyph in ORDER if (many := sum(1 for row in rows if row.cells[""] == glyph))]
    return f"{len(rows)} target{'' if len(rows) == 1 else 's'}: {' '.join(said)}"
