"""A target as a row of the fleet: its state, the four levels of its window, what it does now, and how old that is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from console.engines.registry import engine_named
from console.errors import ConnectError
from console.runs.listing import RunSummary
from console.schema.facts import OPEN_STATES, Facts, LedgerEntry
from console.schema.hosts import Target
from console.settings.levels import Levels
from console.steps.levels import levels_of
from console.tui.session import Seen
from console.tui.table import Column, Row
from console.views.cells import wrap
from console.views.facts import facts_text
from console.views.figures import duration, number
from console.views.levels import PLACES, level_value

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
WINDOW = "context_length"
SETTINGS = (WINDOW, "mem_fraction", "kv_cache_dtype")
# Older than this a look says how it was, not how it is.
STALE_S = 90.0

OK, BUSY, BAD, UNKNOWN, OFF = "ok", "..", "!!", "??", "--"
ORDER = (BAD, UNKNOWN, BUSY, OFF, OK)
STYLES = {OK: "green", BUSY: "yellow", BAD: "bold red", UNKNOWN: "bold magenta", OFF: "dim"}
NONE = "--"


def fleet_row(
    target: Target, seen: Seen, now: float, runs: Mapping[str, RunSummary], verified: Mapping[str, str]
) -> Row:
    """The row of a target. What could not be read shows as `--`, never as the last value that was.

    `runs` are the newest of this machine by target, `verified` the invocations that runs proved, by run.
    """
    glyph, word = standing(seen, now)
    cells = {"": glyph, "TARGET": target.name, "STATE": word, "AGE": age(seen, now), "NOTE": note(target, seen, runs)}
    values = dict.fromkeys((column.name for column in COLUMNS if column.name not in cells), NONE)
    if seen.facts is not None and not _blind(seen, now):
        values |= _values(target, seen.facts, verified)
    return Row(
        target.name, cells | values, {"": STYLES[glyph], "STATE": STYLES[glyph]}, (ORDER.index(glyph), target.name)
    )


def standing(seen: Seen, now: float) -> tuple[str, str]:
    """Glyph and word."""
    if seen.held and seen.facts is None:
        return BUSY, "measured"
    if seen.error is not None:
        return UNKNOWN, trouble(seen)
    if seen.facts is None:
        return (BUSY, "reading") if seen.reading else (UNKNOWN, "not read")
    if seen.held:
        return BUSY, "measured"
    if now - seen.at > STALE_S:
        return UNKNOWN, "stale"
    return state(seen.facts)


def _blind(seen: Seen, now: float) -> bool:
    """Whether the last good look no longer says how it is."""
    return seen.error is not None or (not seen.held and now - seen.at > STALE_S)


def _values(target: Target, facts: Facts, verified: Mapping[str, str]) -> dict[str, str]:
    levels = window(target, facts)
    said = {place.upper(): value(levels, place) for place in PLACES}
    said["POOL"] = "n/a" if levels.pool_tokens is None else number(levels.pool_tokens)
    gpus = [gpu for gpu in facts.host.gpus if gpu.memory_used_mib > IDLE_MIB]
    if gpus:
        used, total = sum(gpu.memory_used_mib for gpu in gpus), sum(gpu.memory_total_mib for gpu in gpus)
        said["GPU MEM"] = f"{used / 1024:.0f}/{total / 1024:.0f}G"
        loads = [gpu.load_percent for gpu in gpus if gpu.load_percent is not None]
        said["LOAD"] = f"{max(loads)}%" if loads else NONE
    serving = facts.serving
    if serving is not None:
        running, queued = serving.running_requests, serving.queued_requests
        said["REQ"] = NONE if running is None else f"{running}+{queued or 0}"
        rate = serving.generation_tok_s
        said["TOK/S"] = f"{rate:.0f}" if rate is not None and running else NONE
        said["ENGINE"] = serving.version or NONE
    said["XID"] = last_xid(facts) or NONE
    said["SINCE"] = since(facts, verified) or NONE
    return said


IDLE_MIB = 500


def last_xid(facts: Facts) -> str:
    """The number of the newest Xid line of this boot."""
    for line in reversed(facts.host.xid_lines):
        _, _, rest = line.partition("Xid")
        digits = "".join(part for part in rest.partition("):")[2][:8] if part.isdigit())
        return digits or "?"
    return ""


def last_change(facts: Facts) -> LedgerEntry | None:
    """The newest change that the host remembers."""
    changes = [entry for entry in facts.ledger if entry.state not in ("unchanged", "")]
    return max(changes, key=lambda entry: entry.run, default=None)


def since(facts: Facts, verified: Mapping[str, str]) -> str:
    """`3h05m K2AB`: how long ago it was changed last, by which run; `!!` when another process runs than was proven."""
    entry = last_change(facts)
    if entry is None:
        return ""
    proven = verified.get(entry.run, "")
    mark = "!!" if proven and facts.unit.invocation_id and proven != facts.unit.invocation_id else ""
    try:
        seconds = (datetime.fromisoformat(facts.read_at) - datetime.fromisoformat(entry.at)).total_seconds()
    except (ValueError, TypeError):
        return f"{mark}{entry.run[-4:]}"
    return f"{mark}{short(seconds)} {entry.run[-4:]}"


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
    if facts.lock.held:
        return f"lock {facts.lock.run[-6:]}"
    if any(entry.state in OPEN_STATES for entry in facts.ledger):
        return "open change"
    return "protected" if target.host.protected else ""


def foreign_run(facts: Facts | None, known: Collection[str]) -> str:
    """The run of an open change that the host remembers and this machine does not know."""
    entries = facts.ledger if facts is not None else ()
    return next((entry.run for entry in entries if entry.state in OPEN_STATES and entry.run not in known), "")


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
        return BAD, "FAILED"
    if unit.active_state in ("activating", "deactivating", "reloading"):
        return BUSY, unit.active_state
    if unit.active_state != "active":
        return OFF, unit.active_state or "unknown"
    if facts.serving is None:
        return BUSY, "no answer"
    return (BAD, "key refused") if facts.serving.refused else (OK, "ready")


def trouble(seen: Seen) -> str:
    """One word for why a target could not be read."""
    return "unreachable" if isinstance(seen.error, ConnectError) else "refused"


def age(seen: Seen, now: float) -> str:
    """How old the last good look is."""
    return "never" if seen.facts is None else short(max(0.0, now - seen.at))


def counts(rows: list[Row]) -> str:
    """`3 targets: 2 ok 1 !!`."""
    said = [f"{many} {glyph}" for glyph in ORDER if (many := sum(1 for row in rows if row.cells[""] == glyph))]
    return f"{len(rows)} target{'' if len(rows) == 1 else 's'}: {' '.join(said)}"


def detail(target: Target, seen: Seen, now: float, width: int) -> str:
    """Everything that was seen of one target, as `console facts` shows it; first why the last look failed."""
    said: list[str] = [f"not looked at now: {seen.held}"] if seen.held else []
    if seen.error is not None:
        for line in str(seen.error).splitlines():
            said += wrap(line, width)
        said += [f"next look in {duration(seen.next_at - now)}"] if seen.next_at > now else []
    if seen.facts is None:
        return "\n".join(said or [f"{target.name}: {'reading' if seen.reading else 'not read yet'}"])
    if seen.error is not None:
        said += ["", f"before that, {age(seen, now)} ago:"]
    engine = engine_named(target.service.engine)
    levels = [levels_of(seen.facts, engine, name) for name in SETTINGS]
    return "\n".join([*said, facts_text(seen.facts, levels, width)])
