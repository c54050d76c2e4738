"""The lab's journal: records as `journalctl -o json` shows them."""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LINE_MAX = 48 * 1024  # journald cuts longer lines here
KEEP = 100_000
ALWAYS = ("__CURSOR", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_BOOT_ID")


@dataclass(frozen=True)
class Record:
    """One entry; `fields` holds all but the message."""

    number: int
    fields: Mapping[str, str]
    message: bytes

    def shown(self, names: Sequence[str] | None, everything: bool) -> str:
        """A line of JSON. A message that does not print is a list of bytes, a long one null unless `everything`."""
        value: dict[str, object] = {
            key: text for key, text in self.fields.items() if names is None or key in names or key in ALWAYS
        }
        if names is None or "MESSAGE" in names:
            value["MESSAGE"] = message_value(self.message, everything)
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def message_value(message: bytes, everything: bool) -> object:
    if not everything and len(message) > 4096:
        return None
    try:
        text = message.decode()
    except UnicodeDecodeError:
        return list(message)
    if any((char < " " and char not in "\t\n") or "\x7f" <= char <= "\x9f" for char in text):
        return list(message)
    return text


class Journal:
    """Records in order of arrival. The boot id is this lab's, the cursor names boot and number."""

    def __init__(self) -> None:
        self.records: deque[Record] = deque(maxlen=KEEP)
        self.boot_id = boot_id()
        self.tag = uuid.uuid4().hex
        self.count = 0

    def add(self, message: bytes, fields: Mapping[str, str]) -> None:
        self.count += 1
        now = time.time_ns() // 1000
        mono = time.monotonic_ns() // 1000
        known = {
            "__CURSOR": f"s={self.tag};i={self.count:x};b={self.boot_id};m={mono:x};t={now:x};x={self.count:x}",
            "__REALTIME_TIMESTAMP": str(now),
            "__MONOTONIC_TIMESTAMP": str(mono),
            "_BOOT_ID": self.boot_id,
            "_HOSTNAME": os.uname().nodename,
            "PRIORITY": "6",
        }
        self.records.append(Record(self.count, {**known, **fields}, message))

    def select(
        self,
        groups: Sequence[Mapping[str, Sequence[str]]],
        *,
        after: str | None = None,
        since_us: int = 0,
        last: int | None = None,
        grep: re.Pattern[str] | None = None,
    ) -> list[Record]:
        """Records of any of the groups; in a group every field must match one of its values. No group: all.

        `last` counts from the end. Raises ValueError for a cursor that is none.
        """
        start = 0
        if after is not None:
            found = re.search(r"(?:^|;)i=([0-9a-f]+)", after)
            if found is None:
                raise ValueError(after)
            start = int(found[1], 16)
        chosen = [
            record
            for record in self.records
            if record.number > start
            and int(record.fields["__REALTIME_TIMESTAMP"]) >= since_us
            and (not groups or any(matches(record, group) for group in groups))
            and (grep is None or grep.search(record.message.decode("utf-8", "replace")))
        ]
        return chosen if last is None else chosen[len(chosen) - min(last, len(chosen)) :]


def matches(record: Record, group: Mapping[str, Sequence[str]]) -> bool:
    return all(record.fields.get(name) in values for name, values in group.items())


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123 - not a file of a folder
        return file.read().strip().replace("-", "")


class Stream:
    """Output of a process, cut into records at newlines; what has no newline yet is not in the journal."""

    def __init__(self, journal: Journal, fields: Mapping[str, str]) -> None:
        self.journal = journal
        self.fields = fields
        self.pending = b""

    def feed(self, data: bytes) -> None:
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            self.write(line)
        while len(self.pending) >= LINE_MAX:
            self.write(self.pending[:LINE_MAX])
            self.pending = self.pending[LINE_MAX:]

    def close(self) -> None:
        if self.pending:
            self.write(self.pending)
        self.pending = b""

    def write(self, line: bytes) -> None:
        if not line:  # journald drops empty lines
            return
        for start in range(0, len(line), LINE_MAX):
            self.journal.add(line[start : start + LINE_MAX], self.fields)
