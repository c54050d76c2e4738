"""One cheap look at a service that starts: what changed since the last one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from console.engines.base import Engine, LogLine
from console.facts.journal import JournalLine, last_start, parse_in_slices, parse_log
from console.facts.parse import pairs
from console.remote.session import Reader
from console.remote.systemd import parse_unit
from console.schema.facts import UnitState
from console.untrusted import decode

PortOwner = Literal["unit", "foreign", "unseen", "none"]
WATCH_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Watch:
    """What was seen. Lines are those since `cursor` of the look before, of the start that is current."""

    unit: UnitState
    invocation: str
    boot_id: str
    cursor: str  # to be given to the next look
    port_owner: PortOwner
    port_pid: int = 0  # of the unit, or of whoever else has the port
    lines: tuple[LogLine, ...] = ()  # as the engine's table reads them
    raw_lines: tuple[str, ...] = ()  # all of them, masked
    journal: tuple[JournalLine, ...] = ()  # of every start, with the invocation each belongs to
    journal_reason: str = ""  # why there are no lines
    gpu_used_mib: int | None = None
    read_bytes: int | None = None  # from storage, by the unit's processes
    reconnected: bool = False  # the connection was opened again since the look before


async def watch_once(
    reader: Reader,
    engine: Engine,
    port: int,
    cursor: str = "",
    *,
    patience_s: float = 0.0,
    not_of: str = "",
    gpus: bool = True,
    log: str = "",
) -> Watch:
    """Look once. Raises ConnectError when the host does not answer for `patience_s`.

    `lines` are of the current invocation; with `not_of`, of every invocation but that one, so that the last words of a
    start that systemd has already replaced are not lost. `log`: a file that the engine writes to; where it was read to
    is kept in the cursor.
    """
    service = reader.target.service
    in_journal, read_in, read_to = in_log(cursor)
    output = await reader.look(
        "look_watch.sh",
        service.unit,
        str(port),
        in_journal,
        "gpu" if gpus else "",
        *((log, read_to) if log else ()),
        timeout_s=WATCH_TIMEOUT_S,
        patience_s=patience_s,
    )
    sections = output.sections
    unit = parse_unit(decode(sections.get("unit", b"")), service.unit)
    host = pairs(sections.get("host", b""))
    journal = await parse_in_slices(sections.get("journal", b""), reader.redactor, engine)
    # Without a line yet there is no cursor: then everything since now counts.
    on = journal.cursor or in_journal or f"@{host.get('now', '0')}"
    lines = journal.lines
    if log:
        raw, position = whole_lines(sections, read_to, running=unit.active_state in ("active", "activating"))
        written = parse_log(raw, reader.redactor, engine, unit.invocation_id)
        lines = (*lines, *of_starts(written, read_in))
        # It moves with what is read alone: a time of its own would look like progress.
        on = log_cursor(on, unit.invocation_id, position if written or not read_to else read_to)
    chosen = [line for line in lines if _is_of(line, unit.invocation_id, not_of)]
    owner, pid = port_owner(sections.get("process", b""))
    return Watch(
        unit=unit,
        invocation=unit.invocation_id,
        boot_id=host.get("boot_id", ""),
        cursor=on,
        port_owner=owner,
        port_pid=pid,
        lines=tuple(line.read for line in chosen if line.read is not None),
        raw_lines=tuple(line.text for line in chosen),
        journal=lines,
        journal_reason=journal.complaints,
        gpu_used_mib=_sum(sections.get("gpu", b"")),
        read_bytes=_sum(sections.get("read", b"")),
        reconnected=reader.regained(),
    )


def log_cursor(in_journal: str, invocation: str, position: str) -> str:
    """A cursor that also says how far a log file was read, and which start wrote it then."""
    return f"{in_journal}|{invocation}|{position}"


def in_log(cursor: str) -> tuple[str, str, str]:
    """What `log_cursor` was made of; empty where nothing was read of a log file."""
    in_journal, _, rest = cursor.partition("|")
    invocation, _, position = rest.partition("|")
    return in_journal, invocation, position


def whole_lines(sections: Mapping[str, bytes], read_to: str, *, running: bool) -> tuple[bytes, str]:
    """What a log says since `read_to`, and the position after it: a line that is still being written waits."""
    raw, position = sections.get("log", b""), decode(sections.get("log_at", b"")).strip()
    if not position.isdigit():
        return raw, position or read_to
    kept = max(raw.rfind(b"\n"), raw.rfind(b"\r")) + 1 if running else len(raw)
    size = int(position)
    begin = int(read_to) if read_to.isdigit() and int(read_to) <= size else 0
    # Without a beginning it is the end of the file that was read.
    return raw[:kept], str(begin + kept if read_to else size - len(raw) + kept)


def of_starts(lines: Sequence[JournalLine], before: str) -> list[JournalLine]:
    """Lines of a log file that goes on over starts: those that the start `before` wrote are given back to it.

    What stands before the engine's arguments is the earlier start's. Without them, and where another start was the last
    one seen, only a failure is taken for the new start's: a line that says ready may be the old one's.
    """
    if not lines or before == lines[0].invocation:
        return list(lines)
    begin = last_start(lines)
    if begin is None:
        return [
            line if line.read is not None and line.read.kind == "failure" else replace(line, invocation=before)
            for line in lines
        ]
    return [replace(line, invocation=before) for line in lines[:begin]] + list(lines[begin:])


def _is_of(line: JournalLine, invocation: str, not_of: str) -> bool:
    if not_of:
        return line.invocation != not_of
    return line.invocation == invocation


def port_owner(section: bytes) -> tuple[PortOwner, int]:
    """Who has the port: the unit, somebody else, a process that cannot be seen, or nobody."""
    said = pairs(section)
    if said.get("pid", "").isdigit():
        return "unit", int(said["pid"])
    if said.get("foreign", "").isdigit():
        return "foreign", int(said["foreign"])
    return ("unseen" if "cannot be seen" in said.get("reason", "") else "none"), 0


def _sum(section: bytes) -> int | None:
    numbers = [int(word) for word in decode(section).split() if word.isdigit()]
    return sum(numbers) if numbers else None
