"""What a host shows of its speed without being asked to do anything: GPUs, their users, and the log since a while."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from console.analysis.diagnosis.from_counters import between
from console.analysis.diagnosis.window import Said, Window
from console.engines.base import Engine, LogLine
from console.engines.metrics import Counters
from console.facts.gpu_state import parse_hardware
from console.facts.journal import parse_journal
from console.remote.session import Reader
from console.schema.facts import Facts
from console.schema.gpu_state import Hardware
from console.settings.log_path import log_path
from console.untrusted import decode

LOOK_TIMEOUT_S = 90.0


@dataclass(frozen=True)
class SeenSpeed:
    """`lines` are those of the engine's log that its table reads, in order; `notes` say what could not be seen."""

    hardware: Hardware
    lines: tuple[Said, ...] = ()
    notes: tuple[str, ...] = ()
    zoned: bool = True  # whether the moments of the lines are those of the host's clock


async def look_at_speed(
    reader: Reader, engine: Engine, facts: Facts, since_s: float, *, patience_s: float = 0.0
) -> SeenSpeed:
    """One script on the host; nothing is sent to the engine. Raises ConnectError."""
    path = facts.log.path if facts.log.path.startswith("/") else log_path(facts.files)
    output = await reader.look(
        "look_speed.sh",
        reader.target.service.unit,
        str(max(1, round(since_s))),
        path,
        timeout_s=LOOK_TIMEOUT_S,
        patience_s=patience_s,
    )
    hardware = parse_hardware(output.sections, facts.host.xid_lines)
    log = output.sections.get("log", b"")
    notes: list[str] = []
    if path:
        lines = tuple(of_text(engine, decode(log).splitlines()))
        notes.append(f"the log is not in the journal: read from the end of {path}, whatever its age")
    else:
        journal = parse_journal(log, reader.redactor, engine)
        lines = tuple(Said(line.at, line.read) for line in journal.lines if line.read is not None)
        if journal.complaints:
            notes.append(f"journalctl: {journal.complaints[:200]}")
    begin = decode(output.sections.get("log_from", b"")).strip()
    # A log that begins with a start is whole.
    whole = not lines or lines[0].line.kind == "args"
    if not path and not whole and begin.isdigit() and lines[0].at_s - float(begin) > since_s / 2:
        short_s = lines[-1].at_s - lines[0].at_s
        notes.append(f"the log tells of {short_s / 60:.0f} min only: nothing ran before, or it was rotated")
    if not lines:
        notes.append(f"no line of the engine's batches in the {'file' if path else 'journal'} of that time")
    return SeenSpeed(hardware, lines, tuple(notes), zoned=not path)


async def watch_counters(
    reader: Reader, engine: Engine, pool_tokens: int | None, *, looks: int = 4, apart_s: float = 5.0
) -> tuple[Window, ...]:
    """Windows between looks at the engine's counters, while somebody's requests run; none where nobody's do.

    Asking for counters makes no engine generate.
    """
    found: list[Window] = []
    before: tuple[float, Counters] | None = None
    for look in range(looks):
        now = engine.read_counters(await reader.fetch(engine.counters_request()))
        at_s = reader.clock.monotonic()
        if now.error or not now.requests_running:
            break
        if before is not None and (one := between(before[1], now, at_s - before[0], pool_tokens, at_s)) is not None:
            found.append(one)
        before = at_s, now
        if look < looks - 1:
            await reader.clock.sleep(apart_s)
    return tuple(found)


def of_text(engine: Engine, lines: Iterable[str]) -> Iterable[Said]:
    """Lines of a log file, timed by the engine's own clock where they carry one."""
    at_s = 0.0
    for text in lines:
        read = engine.read_log(text)
        if read is not None:
            at_s = clock_of(read) or at_s
            yield Said(at_s, read)


def clock_of(line: LogLine) -> float | None:
    """The moment an engine put before its line: seconds since the epoch, as if it were UTC; without a year 1972."""
    at = str(line.values.get("at", "")).replace(",", ".")
    for form in ("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S"):
        try:
            return datetime.strptime(at, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    try:
        return datetime.strptime(f"1972-{at}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
