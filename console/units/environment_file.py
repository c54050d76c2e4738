"""Environment files as systemd reads them, each value with the bytes it is written with.

The states are those of `parse_env_file_internal` (systemd 252): quotes of both kinds, a backslash takes the next
character, a value may be put together of several quoted pieces, and nothing is expanded. An `export` stays in the name,
so that such a line sets nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from console.units.text import is_utf8

_BLANK, _NEWLINE = b" \t\n\r", b"\n\r"
_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class FileVariable:
    """`NAME=value` on `line`. `spans[i]` is where byte i of the value stands; `at` is where an empty one would."""

    name: str
    octets: bytes
    spans: tuple[tuple[int, int], ...]
    line: int
    at: int
    is_quoted: bool
    end: int  # of the whole assignment, without the line's ending


@dataclass(frozen=True)
class EnvironmentText:
    """What systemd makes of an environment file. `is_valid` False: a byte that is not UTF-8, so it sets nothing."""

    variables: tuple[FileVariable, ...]
    is_valid: bool
    commented: tuple[tuple[str, int], ...] = ()  # name and line of assignments that stand in a comment


def read_environment(content: bytes) -> EnvironmentText:
    """Any bytes are accepted. A name that is none of the shell's is left out, as systemd does."""
    return _Machine(content).run()


@dataclass
class _Machine:
    content: bytes
    found: list[FileVariable] = field(default_factory=list)
    commented: list[tuple[str, int]] = field(default_factory=list)
    valid: bool = True
    key: bytearray = field(default_factory=bytearray)
    value: bytearray = field(default_factory=bytearray)
    spans: list[tuple[int, int]] = field(default_factory=list)
    blank_from: int = -1
    key_line: int = 1
    empty_at: int = 0
    quoted: bool = False

    def run(self) -> EnvironmentText:
        state, line, comment_at = "pre-key", 1, 0
        for index in range(len(self.content)):
            octet = self.content[index : index + 1]
            newline = octet in (b"\n", b"\r")
            if state == "pre-key":
                if octet in (b"#", b";"):
                    state, comment_at = "comment", index + 1
                elif octet not in (b" ", b"\t", b"\n", b"\r"):
                    state, self.key_line = "key", line
                    self.key[:] = octet
            elif state == "key":
                if newline:
                    state = "pre-key"
                elif octet == b"=":
                    state, self.empty_at, self.quoted = "pre-value", index + 1, False
                    self._reset()
                else:
                    self.key.extend(octet)
            elif state == "pre-value":
                if newline:
                    self._push(index)
                    state = "pre-key"
                elif octet in (b"'", b'"'):
                    state, self.quoted = ("single" if octet == b"'" else "double"), True
                    self.empty_at = self.empty_at if self.value else index + 1
                elif octet == b"\\":
                    state = "escape"
                elif octet not in (b" ", b"\t"):
                    state = "value"
                    self._put(octet, index)
            elif state == "value":
                if newline:
                    self._push(index)
                    state = "pre-key"
                elif octet == b"\\":
                    state, self.blank_from = "escape", -1
                else:
                    if octet not in (b" ", b"\t"):
                        self.blank_from = -1
                    elif self.blank_from < 0:
                        self.blank_from = len(self.value)
                    self._put(octet, index)
            elif state == "escape":
                state = "value"
                if not newline:
                    self._put(octet, index - 1, index + 1)
            elif state == "single":
                if octet == b"'":
                    state = "pre-value"
                else:
                    self._put(octet, index)
            elif state == "double":
                if octet == b'"':
                    state = "pre-value"
                elif octet == b"\\":
                    state = "double-escape"
                else:
                    self._put(octet, index)
            elif state == "double-escape":
                state = "double"
                if octet in (b'"', b"\\", b"`", b"$"):
                    self._put(octet, index - 1, index + 1)
                elif octet != b"\n":
                    self._put(b"\\", index - 1)
                    self._put(octet, index)
            elif state == "comment":
                if octet == b"\\":
                    state = "comment-escape"
                elif newline:
                    self._comment(self.content[comment_at:index], line)
                    state = "pre-key"
            elif state == "comment-escape":
                state = "comment"
            line += octet == b"\n"
        if state == "comment":
            self._comment(self.content[comment_at:], line)
        elif state not in ("pre-key", "key", "comment-escape"):
            self._push(len(self.content))
        return EnvironmentText(tuple(self.found), self.valid, tuple(self.commented))

    def _reset(self) -> None:
        self.value.clear()
        self.spans.clear()
        self.blank_from = -1

    def _put(self, octet: bytes, start: int, end: int | None = None) -> None:
        self.value.extend(octet)
        self.spans.append((start, start + 1 if end is None else end))

    def _comment(self, text: bytes, line: int) -> None:
        match = re.match(rb"[#; \t]*(?:export )?([A-Za-z_][A-Za-z0-9_]*)=", text)
        if match:
            self.commented.append((match[1].decode(), line))

    def _push(self, end: int) -> None:
        size = self.blank_from if self.blank_from >= 0 else len(self.value)
        name, octets = bytes(self.key).rstrip(_BLANK), bytes(self.value[:size])
        if not is_utf8(name) or not is_utf8(octets):
            self.valid = False
        elif _NAME.fullmatch(name):
            spans = tuple(self.spans[:size])
            self.found.append(
                FileVariable(name.decode(), octets, spans, self.key_line, self.empty_at, self.quoted, end)
            )
        self.key.clear()
        self._reset()
