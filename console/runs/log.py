"""The event log of a run: one line an event, masked, on disk before anybody is told."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from console.clock import Clock
from console.errors import InternalError, StateError
from console.schema.events import Event, RunFinished, StepFinished, read_event
from console.secrets import Redactor

# Lost events of these kinds would change what a reader believes to have happened; progress only informs.
DURABLE_KINDS = frozenset(
    {
        "run.started",
        "run.finished",
        "target.finished",
        "change.intended",
        "change.made",
        "change.undoing",
        "change.undone",
        "undo.started",
        "undo.finished",
        "service.verified",
        "question.answered",
        "abort.requested",
        "wait.extended",
        "guard.changed",
        "record.saved",
        "record.committed",
    }
)
# A step that went well is told by what it changed; how one went wrong decides how the run ends.
WENT_WELL = frozenset({"ok", "changed", "skipped"})
# Test hook: this process sends itself a signal when event k is on disk. "k" is SIGKILL, "k:SIGINT" another one.
KILL_AFTER = "CONSOLE_TEST_KILL_AFTER"
LINE_BYTES = 4 * 1024 * 1024

Subscriber = Callable[[Event], None]


class EventLog:
    """Appends events; made by RunDirectory.log for the owner of the run.

    `append` numbers, stamps, masks and writes an event, fsyncs the kinds that must survive a crash, and only then
    tells the subscribers, who get the masked event. Numbering goes on where a log of a killed process ended.
    """

    def __init__(
        self,
        path: Path,
        run_id: str,
        *,
        now: Callable[[], str],
        redactor: Redactor,
        kill_after: tuple[int, int] = (0, 0),
    ) -> None:
        self.path = path
        self._run = run_id
        self._now = now
        self._redactor = redactor
        self._kill_after, self._signal = kill_after
        self._subscribers: list[Subscriber] = []
        self._torn = False
        self._seq = 0
        if path.exists():
            written = read_log(path)
            self._torn = written.torn
            self._seq = max((event.seq for event in written.events), default=0)
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StateError(f"cannot write: {error.strerror or error}", where=str(path)) from error

    @property
    def seq(self) -> int:
        """The number of the last event written."""
        return self._seq

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with each event from now on; the returned function ends that."""
        self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._subscribers.remove(subscriber)

        return unsubscribe

    def append(self, event: Event) -> Event:
        """Write one event; returns it as written. Raises StateError when the disk refuses: then nobody was told."""
        stamped = event.model_copy(update={"seq": self._seq + 1, "ts": self._now(), "run": self._run})
        line = self._redactor.tree(stamped.line())
        try:
            masked = type(event).model_validate(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise InternalError(f"{event.type} cannot be written: {first['loc']}: {first['msg']}") from None
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        # Lone surrogates become the escapes that JSON has for them.
        data = text.encode("utf-8", "backslashreplace") + b"\n"
        if self._torn:
            data = b"\n" + data  # nothing is cut off: the torn line stays, and readers skip it
        self._torn = True
        try:
            _write_all(self._file, data)
            self._torn = False
            if is_durable(event) or self._seq + 1 == self._kill_after:
                os.fsync(self._file)
        except OSError as error:
            raise StateError(f"cannot write: {error.strerror or error}", where=str(self.path)) from error
        self._seq += 1
        if self._seq == self._kill_after:
            os.kill(os.getpid(), self._signal)
        for subscriber in tuple(self._subscribers):
            subscriber(masked)
        return masked

    def close(self) -> None:
        """Close the file; nothing is lost without it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def is_durable(event: Event) -> bool:
    """Whether it must be on disk before the run goes on; a sync takes everything before it along."""
    if isinstance(event, StepFinished):
        return event.outcome not in WENT_WELL
    return event.type in DURABLE_KINDS


def kill_after(environment: Mapping[str, str]) -> tuple[int, int]:
    """After which event the test hook strikes, 0: never; and with which signal."""
    number, _, name = environment.get(KILL_AFTER, "").partition(":")
    if not number.isdecimal():
        return 0, 0
    return int(number), int(getattr(signal, name, signal.SIGKILL))


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


@dataclass
class ReadLog:
    """What a log holds: its events, how many lines said nothing, and whether the last line is torn."""

    events: list[Event] = field(default_factory=list)
    unknown: int = 0
    garbage: int = 0
    torn: bool = False


def read_log(path: Path, *, without: Collection[str] = ()) -> ReadLog:
    """Everything of a log that can be read; never raises for what stands in it, only StateError for no file.

    `without` names types to pass over quickly. A last line without its end is torn: a process was killed writing it.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StateError(f"cannot read: {error.strerror or error}", where=str(path)) from error
    found = ReadLog()
    complete, newline, rest = data.rpartition(b"\n")
    found.torn = bool(rest)
    marks = tuple(f'"type":"{name}"'.encode() for name in without)
    for line in complete.split(b"\n") if newline else ():
        # The type is the first key of that name, as `Event.line` orders them.
        if not line.strip() or (marks and line.startswith(marks, line.find(b'"type":'))):
            continue
        event = parse_line(line, found)
        if event is not None:
            found.events.append(event)
    return found


def read_events(path: Path) -> list[Event]:
    """The events of a log, in its order; see read_log."""
    return read_log(path).events


def parse_line(line: bytes, counts: ReadLog | None = None) -> Event | None:
    """The event of one line; None for garbage and for types of a newer version."""
    try:
        table: Any = json.loads(line)
        event = read_event(table) if isinstance(table, dict) else None
    except (ValueError, RecursionError):  # ValidationError and UnicodeDecodeError are ValueErrors
        table = event = None
    if event is None and counts is not None:
        if isinstance(table, dict) and "type" in table:
            counts.unknown += 1
        else:
            counts.garbage += 1
    return event


async def follow(
    path: Path, alive: Callable[[], bool], clock: Clock, *, poll_s: float = 0.1, after: int = 0
) -> AsyncIterator[Event]:
    """The events of a log as they are written, from the one after number `after` on.

    Ends after run.finished, or when nobody owns the run any more and all was read; waits for a file not yet there.
    """
    rest = b""
    offset = 0
    while True:
        lives = alive()  # asked before reading: what a dying owner wrote last is still read
        try:
            with path.open("rb") as file:
                file.seek(offset)
                fresh = file.read()
        except FileNotFoundError:
            fresh = b""
        offset += len(fresh)
        *lines, rest = (rest + fresh).split(b"\n")
        if len(rest) > LINE_BYTES:
            rest = b""
        for line in lines:
            event = parse_line(line)
            if event is not None and event.seq > after:
                yield event
                if isinstance(event, RunFinished):
                    return
        if not lives and not fresh:
            return
        if not fresh:
            await clock.sleep(poll_s)
