"""One cheap look at a service that starts: what changed since the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from console.engines.base import Engine, LogLine
from console.facts.journal import JournalLine, parse_journal
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
) -> Watch:
    """Look once. Raises ConnectError when the host does not answer for `patience_s`.

    `lines` are of the current invocation; with `not_of`, of every invocation but that one, so that the last words of a
    start that systemd has already replaced are not lost.
    """
    service = reader.target.service
    output = await reader.look(
        "look_watch.sh",
        service.unit,
        str(port),
        cursor,
        "gpu" if gpus else "",
        timeout_s=WATCH_TIMEOUT_S,
        patience_s=patience_s,
    )
    sections = output.sections
    unit = parse_unit(decode(sections.get("unit", b"")), service.unit)
    host = pairs(sections.get("host", b""))
    journal = parse_journal(sections.get("journal", b""), reader.redactor, engine)
    chosen = [line for line in journal.lines if _is_of(line, unit.invocation_id, not_of)]
    owner, pid = port_owner(sections.get("process", b""))
    return Watch(
        unit=unit,
        invocation=unit.invocation_id,
        boot_id=host.get("boot_id", ""),
        # Without a line yet there is no cursor: then everything since now counts.
        cursor=journal.cursor or cursor or f"@{host.get('now', '0')}",
        port_owner=owner,
        port_pid=pid,
        lines=tuple(line.read for line in chosen if line.read is not None),
        raw_lines=tuple(line.text for line in chosen),
        journal=journal.lines,
        journal_reason=journal.complaints,
        gpu_used_mib=_sum(sections.get("gpu", b"")),
        read_bytes=_sum(sections.get("read", b"")),
        reconnected=reader.regained(),
    )


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
