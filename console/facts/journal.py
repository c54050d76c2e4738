"""journald's JSON lines as text, or those of a log file: what a unit's processes and systemd said of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from console.engines.base import Engine, LogLine
from console.secrets import Redactor
from console.untrusted import clean, decode

# Progress bars redraw themselves with \r; each state is a line of its own.
_BREAKS = re.compile(r"[\r\n]+")
# What stands before the engine's own words in a file: `web-1  | …` of compose, or the month, time, host and process of
# syslog and of `journalctl` into a file; the month in the language of whoever wrote it: `Okt 03`, `3月 04`, `4 мар`.
_BEFORE = re.compile(
    r"[\w.-]{1,80} +\| "
    r"|(?:[^\W\d]{2,6}\.? +\d{1,2}|\d{1,2}\.? +[^\W\d]{2,6}\.?|\d{1,2}[月월] +\d{1,2}) \d\d:\d\d:\d\d \S{1,255} "
    r"[\w./@:-]{1,255}(?:\[\d+\])?: "
)
LONGEST_LINE = 4000
SLICE_LINES = 50


@dataclass(frozen=True)
class JournalLine:
    """One line, masked and with its controls made visible. `at` is seconds since the epoch."""

    text: str
    at: float
    invocation: str
    cursor: str
    read: LogLine | None = None  # as the engine's table reads it


@dataclass(frozen=True)
class Journal:
    """Lines in order. `cursor` is the last one's; `complaints` is what journalctl said instead of lines."""

    lines: tuple[JournalLine, ...] = ()
    cursor: str = ""
    complaints: str = ""


async def parse_in_slices(output: bytes, redactor: Redactor, engine: Engine) -> Journal:
    """As `parse_journal`, letting others go on in between: thousands of lines take a good part of a second."""
    raw = output.split(b"\n")
    lines: list[JournalLine] = []
    cursor, complaints = "", []
    for start in range(0, len(raw), SLICE_LINES):
        part = parse_journal(b"\n".join(raw[start : start + SLICE_LINES]), redactor, engine, cursor)
        lines += part.lines
        cursor = part.cursor
        complaints += [part.complaints] if part.complaints else []
        await asyncio.sleep(0)
    return Journal(tuple(lines), cursor, "\n".join(complaints)[:LONGEST_LINE])


def parse_journal(output: bytes, redactor: Redactor, engine: Engine, cursor: str = "") -> Journal:
    """`journalctl -o json --all`; a torn line is left out. `cursor` is that of the line before.

    The engine reads each line before it is masked, and what it kept of it is masked then.
    """
    lines: list[JournalLine] = []
    complaints: list[str] = []
    for raw in output.split(b"\n"):
        if not raw.strip():
            continue
        try:
            entry: Any = json.loads(raw)
        except (ValueError, RecursionError):
            if not raw.startswith(b"{"):
                complaints.append(clean(decode(raw)))
            continue
        if not isinstance(entry, dict):
            continue
        cursor = _text(entry.get("__CURSOR")) or cursor
        at = _microseconds(entry.get("__REALTIME_TIMESTAMP"))
        invocation = _text(entry.get("_SYSTEMD_INVOCATION_ID")) or _text(entry.get("INVOCATION_ID"))
        for text in _texts(entry.get("MESSAGE")):
            read = read_line(engine, text)
            shown = redactor.text(clean(text))[:LONGEST_LINE]
            lines.append(JournalLine(shown, at, invocation, cursor, _masked(read, text, shown, redactor)))
    return Journal(tuple(lines), cursor, "\n".join(complaints)[:LONGEST_LINE])


def parse_log(output: bytes, redactor: Redactor, engine: Engine, invocation: str) -> tuple[JournalLine, ...]:
    """The lines of a log file, which knows no times and no invocations: the one given is taken for all."""
    lines = []
    for text in _texts(decode(output)):
        shown = redactor.text(clean(text))[:LONGEST_LINE]
        lines.append(JournalLine(shown, 0.0, invocation, "", _masked(read_line(engine, text), text, shown, redactor)))
    return tuple(lines)


def read_line(engine: Engine, text: str) -> LogLine | None:
    """A line as the engine's table reads it, without what compose or a syslog put before it."""
    read = engine.read_log(text)
    return read if read is not None or (said := _BEFORE.match(text)) is None else engine.read_log(text[said.end() :])


def last_start(lines: Sequence[JournalLine]) -> int | None:
    """Where the last start in `lines` begins: at the line in which the engine prints its arguments; None: nowhere."""
    begun = [index for index, line in enumerate(lines) if line.read is not None and line.read.kind == "args"]
    return begun[-1] if begun else None


def _masked(read: LogLine | None, text: str, shown: str, redactor: Redactor) -> LogLine | None:
    """What was read of `text`, masked; `shown` is the whole of it, masked already."""
    if read is None:
        return None
    values = {name: redactor.text(value) if isinstance(value, str) else value for name, value in read.values.items()}
    said = shown if read.text == text else redactor.text(clean(read.text))
    return LogLine(read.kind, said, values, read.done, read.total, read.cause, read.certainty)


def _texts(message: object) -> Iterator[str]:
    """The lines of a MESSAGE: text, an array of bytes where it is not UTF-8, or several where the field is repeated."""
    if isinstance(message, list):
        with contextlib.suppress(TypeError, ValueError):
            message = decode(bytes(message))
    if isinstance(message, list):
        for item in message:
            yield from _texts(item)
    elif isinstance(message, str):
        for part in _BREAKS.split(message):
            if part.strip():
                yield part


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _microseconds(value: object) -> float:
    return int(value) / 1e6 if isinstance(value, str) and value.isdigit() else 0.0
