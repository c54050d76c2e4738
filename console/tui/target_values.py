"""What was read of a target: the cells of its row, its state, and the page below the table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from console.engines.registry import engine_named
from console.schema.facts import OPEN_STATES, Facts, LedgerEntry
from console.schema.hosts import Target
from console.settings.levels import Levels
from console.steps.levels import levels_of
from console.tui.session import Seen
from console.tui.targets import BAD, BUSY, NONE, OFF, OK, age, short
from console.views.cells import wrap
from console.views.facts import facts_text
from console.views.figures import duration, number
from console.views.levels import PLACES, level_value

WINDOW = "context_length"
SETTINGS = (WINDOW, "mem_fraction", "kv_cache_dtype")
# A GPU with less in use than this serves nothing.
IDLE_MIB = 500


@dataclass(frozen=True)
class Looked:
    """What a look came to; it spares the next one what did not change."""

    facts: Facts
    verified: Mapping[str, str]
    levels: dict[str, str]
    cells: dict[str, str]


def looked(target: Target, facts: Facts, verified: Mapping[str, str], before: Looked | None = None) -> Looked:
    """Taking a unit's words apart takes milliseconds; with hundreds of targets only what changed is."""
    if before is not None and before.facts is facts and before.verified is verified:
        return before
    same = before is not None and decides(before.facts) == decides(facts)
    levels = before.levels if before is not None and same else level_cells(target, facts)
    return Looked(facts, verified, levels, values_of(facts, verified) | levels)


def decides(facts: Facts) -> tuple[object, ...]:
    """All of a look that the four levels are made of."""
    serving = facts.serving
    served = None if serving is None else (serving.context_length, serving.pool_tokens, serving.refused)
    return facts.unit, facts.files, facts.process, served, facts.serving_reason


def level_cells(target: Target, facts: Facts) -> dict[str, str]:
    levels = window(target, facts)
    said = {place.upper(): value(levels, place) for place in PLACES}
    return said | {"POOL": "n/a" if levels.pool_tokens is None else number(levels.pool_tokens)}


def values_of(facts: Facts, verified: Mapping[str, str]) -> dict[str, str]:
    """The cells that a look at a target fills; `verified` are the invocations that runs proved, by run."""
    said = {}
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


def held_by(facts: Facts) -> str:
    """The run that holds the lock, when a guard looks next, or a change that somebody left open."""
    if facts.lock.held:
        return f"lock {facts.lock.run[-6:]}"
    if facts.guard.run:
        return "guard" if facts.guard.fires_in_s is None else f"guard {short(facts.guard.fires_in_s)}"
    return "open change" if any(entry.state in OPEN_STATES for entry in facts.ledger) else ""


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


def detail(
    target: Target, seen: Seen, now: float, width: int, page_of: Callable[[Target, Facts, int], str] | None = None
) -> str:
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
    return "\n".join([*said, (page_of or page)(target, seen.facts, width)])


def page(target: Target, facts: Facts, width: int) -> str:
    """What a look saw, as `console facts` shows it."""
    engine = engine_named(target.service.engine)
    return facts_text(facts, [levels_of(facts, engine, name) for name in SETTINGS], width)
