"""The text of a unit file or drop-in: bytes ⇄ lines ⇄ statements, as systemd reads them and without losing a byte."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

BLANKS = b" \t\n\r"  # systemd's WHITESPACE; form feed and vertical tab are ordinary characters to it
BOM = b"\xef\xbb\xbf"

# systemd ends a line at LF, CR or NUL; each of them once, NUL last, counts as one ending (read_line_full).
_LINE = re.compile(rb"([^\n\r\0]*)((?:\n\r?|\r\n?)\0?|\0|\Z)")

StatementKind = Literal["section", "assignment", "dropped"]
Problem = Literal["", "not-utf8", "bad-header", "no-section", "no-equals", "no-key"]
# systemd stops reading the file there: a fragment then fails to load, a drop-in loses its rest.
STOPS = frozenset({"not-utf8", "bad-header"})


@dataclass(frozen=True)
class Line:
    """One line of the file as it stands there; `number` counts from 1, `start` is its offset in bytes."""

    number: int
    start: int
    content: bytes
    ending: bytes

    @property
    def is_comment(self) -> bool:
        return self.content.lstrip(BLANKS)[:1] in (b"#", b";")

    @property
    def is_blank(self) -> bool:
        return not self.content.strip(BLANKS)

    @property
    def continues(self) -> bool:
        """Whether the last backslash joins the next line: an odd number of them, nothing after."""
        return (len(self.content) - len(self.content.rstrip(b"\\"))) % 2 == 1


@dataclass(frozen=True)
class Joined:
    """Bytes of one statement, continuation lines joined; `offsets[i]` is where byte i stands in the file."""

    data: bytes
    offsets: tuple[int, ...]
    anchor: int  # the offset in the file where an empty value would stand

    def __getitem__(self, part: slice) -> Joined:
        start, _, _ = part.indices(len(self.data))
        anchor = self.offsets[start] if start < len(self.offsets) else self.end
        return Joined(self.data[part], self.offsets[part], anchor)

    @property
    def end(self) -> int:
        return self.offsets[-1] + 1 if self.offsets else self.anchor

    def strip(self) -> Joined:
        left = len(self.data) - len(self.data.lstrip(BLANKS))
        return self[left : max(left, len(self.data.rstrip(BLANKS)))]


@dataclass(frozen=True)
class Statement:
    """One thing systemd reads: a section header, an assignment, or something it drops with a `problem`."""

    kind: StatementKind
    section: str
    key: str
    value: Joined
    first_line: int
    last_line: int
    problem: Problem = ""

    @property
    def text(self) -> str:
        return self.value.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class UnitText:
    """The lines of a unit file and what systemd makes of them."""

    lines: tuple[Line, ...]

    @classmethod
    def parse(cls, data: bytes) -> UnitText:
        """Any bytes are accepted; `UnitText.parse(data).to_bytes() == data`."""
        lines: list[Line] = []
        start = 0
        while start < len(data):
            match = _LINE.match(data, start)
            assert match is not None, "the pattern matches everywhere"
            lines.append(Line(len(lines) + 1, start, match[1], match[2]))
            start = match.end()
        return cls(tuple(lines))

    def to_bytes(self) -> bytes:
        return b"".join(line.content + line.ending for line in self.lines)

    def line_at(self, offset: int) -> int:
        """The number of the line that holds the byte at `offset`."""
        return max(1, bisect_right(self._starts, offset))

    @cached_property
    def _starts(self) -> list[int]:
        return [line.start for line in self.lines]

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """In the order of the file. Nothing follows a line that is not UTF-8 or a malformed section header."""
        found: list[Statement] = []
        section = ""
        for joined, first, last in self._logical_lines():
            statement = _statement(joined.strip(), section, first, last)
            if statement is None:
                continue
            found.append(statement)
            if statement.kind == "section":
                section = statement.section
            if statement.problem in STOPS:
                break
        return tuple(found)

    @cached_property
    def stopped_at(self) -> Statement | None:
        """The statement systemd stops reading the file at, if there is one."""
        last = self.statements[-1] if self.statements else None
        return last if last is not None and last.problem in STOPS else None

    @cached_property
    def lost_lines(self) -> tuple[Line, ...]:
        """Lines that look like part of a command but are not: what systemd drops, and options read as keys."""
        lost: list[Line] = []
        for each in self.statements:
            if each.kind == "dropped" or each.key.startswith("-"):
                lost += self.lines[each.first_line - 1 : each.last_line]
        if self.stopped_at is not None:
            lost += self.lines[self.stopped_at.last_line :]
        return tuple(line for line in lost if not line.is_comment and not line.is_blank)

    def _logical_lines(self) -> Iterator[tuple[Joined, int, int]]:
        """(joined bytes, first line, last line): comment lines vanish, also inside a continuation."""
        data: list[bytes] = []
        offsets: list[int] = []
        first = 0
        bom_seen = False
        for line in self.lines:
            if line.is_comment:
                continue
            content, start = line.content, line.start
            if not bom_seen and content.startswith(BOM):
                content, start, bom_seen = content[len(BOM) :], start + len(BOM), True
            if not data:
                first = line.number
            # systemd puts a blank where the backslash was and keeps the next line's indentation.
            data.append(content[:-1] + b" " if line.continues else content)
            offsets.extend(range(start, start + len(content)))
            if not line.continues:
                yield Joined(b"".join(data), tuple(offsets), start), first, line.number
                data, offsets = [], []
        if data:
            yield Joined(b"".join(data), tuple(offsets), offsets[0]), first, self.lines[-1].number


def _statement(line: Joined, section: str, first: int, last: int) -> Statement | None:
    data = line.data
    if not data:
        return None

    def dropped(problem: Problem) -> Statement:
        return Statement("dropped", section, "", line, first, last, problem)

    if not is_utf8(data):
        return dropped("not-utf8")
    if data.startswith(b"["):
        name = data[1:-1].decode("utf-8", "replace")
        if not data.endswith(b"]") or re.search(r"[\x00-\x1f\x7f\"'\\]", name):
            return dropped("bad-header")
        return Statement("section", name, "", line, first, last)
    if not section:
        return dropped("no-section")
    equals = data.find(b"=")
    if equals < 0:
        return dropped("no-equals")
    if equals == 0:
        return dropped("no-key")
    key = data[:equals].strip(BLANKS).decode()
    return Statement("assignment", section, key, line[equals + 1 :].strip(), first, last)


def is_utf8(data: bytes) -> bool:
    """As systemd judges it: noncharacters (U+FDD0…, U+xxFFFE) are refused too."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not any(0xFDD0 <= ord(char) <= 0xFDEF or ord(char) & 0xFFFE == 0xFFFE for char in text)
