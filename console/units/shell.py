"""The simple commands of a shell script or a `bash -c` string, each word with the bytes it is written with.

Nothing is run and nothing is computed: quotes and escapes are taken off, expansions stay parts of their word. What
cannot be read for sure raises ShellError, so that a caller refuses instead of guessing (POSIX.1-2017, XCU 2; bash's
arrays, `[[`, `$'…'` and here-strings on top).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Span = tuple[int, int]
PartKind = Literal["text", "variable", "array", "arguments", "opaque"]

_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNS = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_OPENS = frozenset({"if", "for", "while", "until", "case", "select", "{"})
_CLOSES = {"fi": "if", "done": "loop", "esac": "case", "}": "{"}
_BETWEEN = frozenset({"then", "do", "else", "elif", "!", "time", "coproc"})
_BREAKS = b" \t\n;&|()<>"


class ShellError(ValueError):
    """The text at `offset` cannot be read for sure."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.offset = offset


@dataclass(frozen=True)
class Part:
    """A piece of a word. `octets[i]` is written at `spans[i]`; an expansion has a `name`, and a default where `:-`."""

    kind: PartKind
    octets: bytes = b""
    spans: tuple[Span, ...] = ()
    name: str = ""
    default: tuple[bytes, tuple[Span, ...]] | None = None
    quoted: bool = False


@dataclass(frozen=True)
class ShellWord:
    """One word, before expansion; `start`, `end` are where it stands in the text."""

    parts: tuple[Part, ...]
    start: int
    end: int

    @property
    def is_literal(self) -> bool:
        return all(part.kind == "text" for part in self.parts)

    @property
    def octets(self) -> bytes:
        """What is literal of it; expansions leave nothing."""
        return b"".join(part.octets for part in self.parts)

    @property
    def text(self) -> str:
        return self.octets.decode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class Assignment:
    """`name=word`, `name+=word` or `name=( … )`."""

    name: str
    value: ShellWord | None
    items: tuple[ShellWord, ...] = ()
    is_array: bool = False
    appends: bool = False


@dataclass(frozen=True)
class ShellCommand:
    """One simple command; `depth` counts the ifs, loops, groups and functions around it."""

    assignments: tuple[Assignment, ...]
    words: tuple[ShellWord, ...]
    depth: int
    start: int
    after: str  # the operator that ends it: "", "\n", ";", "&", "|", "&&", "||", ")"

    @property
    def name(self) -> str:
        return self.words[0].text if self.words and self.words[0].is_literal else ""


def read_commands(data: bytes, spans: Sequence[Span] | None = None) -> tuple[ShellCommand, ...]:
    """Every simple command in the order of the text. `spans[i]` is where byte i stands elsewhere. Raises ShellError."""
    return _Reader(data, spans).read()


@dataclass
class _Reader:
    data: bytes
    spans: Sequence[Span] | None
    position: int = 0
    found: list[ShellCommand] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    here: list[tuple[bytes, bool]] = field(default_factory=list)
    words: list[ShellWord] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    begun: int = 0

    def read(self) -> tuple[ShellCommand, ...]:
        if len(self.data) > 262144:
            raise ShellError("the script is too long to be read", 0)
        while self.position < len(self.data):
            self._step()
        self._end("")
        if self.stack:
            raise ShellError(f"{self.stack[-1]} is never closed", len(self.data))
        return tuple(self.found)

    def _peek(self, count: int = 1) -> bytes:
        return self.data[self.position : self.position + count]

    def _span(self, at: int) -> Span:
        return self.spans[at] if self.spans is not None else (at, at + 1)

    def _step(self) -> None:
        octet = self._peek()
        if octet in (b" ", b"\t", b"\r"):
            self.position += 1
        elif self._peek(2) == b"\\\n":
            self.position += 2
        elif octet == b"#":
            end = self.data.find(b"\n", self.position)
            self.position = len(self.data) if end < 0 else end
        elif octet == b"\n":
            self._end("\n")
            self.position += 1
            self._skip_here_documents()
        elif octet in (b"<", b">") or self._peek(2) in (b"&>",):
            self._redirect()
        elif octet in b";&|()":
            self._operator()
        else:
            self._word()

    def _operator(self) -> None:
        if self._peek(2) == b"((" and not self.words:
            begun = self.position
            self._skip_to(b"))")
            for name in dict.fromkeys(_NAME.findall(self.data, begun, self.position)):  # any may be assigned
                opaque = ShellWord((Part("opaque"),), *self._span(begun))
                one = Assignment(name.decode(), opaque)
                self.found.append(ShellCommand((one,), (), len(self.stack), self._span(begun)[0], ";"))
            return
        three = self._peek(3)
        for operator in (b";;&", b";;", b";&", b"&&", b"||", b"|&", b";", b"&", b"|", b"(", b")"):
            if three.startswith(operator):
                break
        self.position += len(operator)
        name = operator.decode()
        if name == "(":
            if len(self.words) == 1 and self.data[self.position : self.position + 1] == b")":
                self.position += 1  # `name ()` begins a function; its body follows as a group
                self.words.clear()
                return
            if self.words and not (self.stack and self.stack[-1] == "case"):
                raise ShellError("a parenthesis inside a command", self.position - 1)
            if not (self.stack and self.stack[-1] == "case"):
                self.stack.append("(")
        elif name == ")":
            if self.stack and self.stack[-1] == "case":
                self.words.clear()  # a pattern of case
                self.assignments.clear()
                return
            self._end(")")
            self._close("(", self.position)
        elif name == "|" and self.stack and self.stack[-1] == "case" and self._in_pattern():
            self.words.clear()
        else:
            self._end(name)

    def _in_pattern(self) -> bool:
        """Whether `|` stands between patterns: a `)` follows on the line before any other operator."""
        rest = self.data[self.position :].partition(b"\n")[0]
        return bool(re.match(rb"[^;&|()]*(\|[^;&|()]*)*\)", rest))

    def _close(self, what: str, at: int) -> None:
        if not self.stack or self.stack[-1] != what:
            raise ShellError(f"the end of {what} without its beginning", at)
        self.stack.pop()

    def _end(self, operator: str) -> None:
        if self.words or self.assignments:
            command = ShellCommand(tuple(self.assignments), tuple(self.words), len(self.stack), self.begun, operator)
            self.found.append(command)
        self.words = []
        self.assignments = []

    def _redirect(self) -> None:
        match = re.compile(rb"&>>|&>|<<<|<<-|<<|<&|>&|>>|>\||<>|<\(|>\(|<|>").match(self.data, self.position)
        assert match is not None
        operator = match[0]
        if operator in (b"<(", b">("):
            start = self.position
            self.position = match.end()
            self._skip_balanced(b"(", b")")
            self.words.append(ShellWord((Part("opaque"),), self._span(start)[0], self._span(self.position - 1)[1]))
            return
        self.position = match.end()
        while self._peek() in (b" ", b"\t"):
            self.position += 1
        word = self._read_word()
        if operator in (b"<<", b"<<-"):
            self.here.append((word.octets, operator == b"<<-"))

    def _skip_here_documents(self) -> None:
        for delimiter, tabs in self.here:
            while self.position < len(self.data):
                end = self.data.find(b"\n", self.position)
                line = self.data[self.position : end if end >= 0 else len(self.data)]
                self.position = len(self.data) if end < 0 else end + 1
                if (line.lstrip(b"\t") if tabs else line) == delimiter:
                    break
            else:
                raise ShellError("a here-document is never closed", len(self.data))
        self.here.clear()

    def _skip_to(self, end: bytes) -> None:
        at = self.data.find(end, self.position)
        if at < 0:
            raise ShellError(f"no {end.decode()} follows", self.position)
        self.position = at + len(end)

    def _word(self) -> None:
        begun = self.position
        if not self.words and not self.assignments:
            self.begun = self._span(begun)[0]
            assigns = _ASSIGNS.match(self.data, begun)
        elif not self.words or (self.words[0].is_literal and self.words[0].text in ("export", "declare", "readonly")):
            assigns = _ASSIGNS.match(self.data, begun)
        else:
            assigns = None
        if assigns is not None:
            self._assignment(assigns)
            return
        word = self._read_word()
        if word.is_literal and word.octets.isdigit() and self._peek() in (b"<", b">"):
            return  # the number of a redirection
        raw = self.data[begun : self.position].decode("utf-8", "replace")
        if not self.words and not self.assignments and self._keyword(raw):
            return
        if raw == "[[" and not self.words:
            self._skip_to(b"]]")
            return
        self.words.append(word)

    def _keyword(self, raw: str) -> bool:
        if raw in _BETWEEN:
            return True
        if raw in _OPENS:
            kind = "loop" if raw in ("for", "while", "until", "select") else raw
            self.stack.append(kind)
            if raw in ("for", "select", "case"):
                self._head(raw)
            return True
        if raw == "function":
            self._read_blank()
            self._read_word()
            if self._peek(2) == b"()":
                self.position += 2
            return True
        if raw in _CLOSES:
            self._close(_CLOSES[raw], self.position)
            return True
        return False

    def _head(self, raw: str) -> None:
        """`for NAME in …` assigns NAME what cannot be known; `case … in` is passed over."""
        self._read_blank()
        if raw != "case" and (name := _NAME.match(self.data, self.position)):
            unknown = ShellWord((Part("opaque"),), *self._span(self.position))
            self.found.append(
                ShellCommand((Assignment(name[0].decode(), unknown),), (), len(self.stack), self.position, ";")
            )
        match = re.compile(rb"[^\n;]*?\bin\b" if raw == "case" else rb"[^\n;]*").match(self.data, self.position)
        if match is None:
            raise ShellError(f"{raw} without its words", self.position)
        self.position = match.end()

    def _read_blank(self) -> None:
        while self._peek() in (b" ", b"\t"):
            self.position += 1

    def _assignment(self, match: re.Match[bytes]) -> None:
        name, appends = match[1].decode(), bool(match[2])
        self.position = match.end()
        if self._peek() == b"(":
            self.position += 1
            items: list[ShellWord] = []
            while self._peek() != b")":
                if self.position >= len(self.data):
                    raise ShellError(f"the array {name} is never closed", match.start())
                if self._peek() in (b" ", b"\t", b"\n", b"\r"):
                    self.position += 1
                elif self._peek(2) == b"\\\n":
                    self.position += 2
                elif self._peek() == b"#":
                    end = self.data.find(b"\n", self.position)
                    self.position = len(self.data) if end < 0 else end
                else:
                    items.append(self._read_word())
            self.position += 1
            self.assignments.append(Assignment(name, None, tuple(items), is_array=True, appends=appends))
            return
        at = self.position
        if at >= len(self.data) or self.data[at : at + 1] in (b" ", b"\t", b"\n", b";", b"&", b"|", b")"):
            span = self._span(at - 1)
            value = ShellWord((), span[1], span[1])
        else:
            value = self._read_word()
        self.assignments.append(Assignment(name, value, appends=appends))

    def _read_word(self) -> ShellWord:
        begun = self.position
        parts: list[Part] = []
        octets, spans = bytearray(), list[Span]()

        def flush(*, quoted: bool = False) -> None:
            if octets or quoted:
                parts.append(Part("text", bytes(octets), tuple(spans), quoted=quoted))
            octets.clear()
            spans.clear()

        def put(at: int) -> None:
            octets.extend(self.data[at : at + 1])
            spans.append(self._span(at))

        while self.position < len(self.data):
            octet = self._peek()
            if octet == b"\\":
                if self._peek(2) != b"\\\n" and self.position + 1 < len(self.data):
                    put(self.position + 1)
                self.position += 2
            elif octet == b"'":
                end = self.data.find(b"'", self.position + 1)
                if end < 0:
                    raise ShellError("a quote is never closed", self.position)
                flush()
                for at in range(self.position + 1, end):
                    put(at)
                flush(quoted=True)
                self.position = end + 1
            elif octet == b'"':
                flush()
                parts += self._double_quoted()
            elif self._peek(2) in (b"$'", b'$"'):
                raise ShellError("a quote of bash's own kind", self.position)
            elif octet in (b"$", b"`"):
                flush()
                parts.append(self._expansion(quoted=False))
            elif octet in _BREAKS.replace(b"\n", b"") or octet == b"\n":
                break
            else:
                put(self.position)
                self.position += 1
        flush()
        if self.position == begun:
            raise ShellError("a word is missing", begun)
        return ShellWord(tuple(parts), self._span(begun)[0], self._span(min(self.position, len(self.data)) - 1)[1])

    def _double_quoted(self) -> list[Part]:
        parts: list[Part] = []
        octets, spans = bytearray(), list[Span]()
        opened = self.position
        self.position += 1
        while True:
            octet = self._peek()
            if not octet:
                raise ShellError("a double quote is never closed", opened)
            if octet == b'"':
                self.position += 1
                break
            if octet == b"\\" and self._peek(2)[1:] in (b"$", b"`", b'"', b"\\", b"\n"):
                if self._peek(2) != b"\\\n":
                    octets.extend(self._peek(2)[1:])
                    spans.append(self._span(self.position + 1))
                self.position += 2
            elif octet in (b"$", b"`"):
                if octets:
                    parts.append(Part("text", bytes(octets), tuple(spans), quoted=True))
                    octets.clear()
                    spans.clear()
                parts.append(self._expansion(quoted=True))
            else:
                octets.extend(octet)
                spans.append(self._span(self.position))
                self.position += 1
        if octets or not parts:
            parts.append(Part("text", bytes(octets), tuple(spans), quoted=True))
        return parts

    def _expansion(self, *, quoted: bool) -> Part:
        at = self.position
        if self._peek() == b"`":
            end = self.data.find(b"`", at + 1)
            if end < 0:
                raise ShellError("a backtick is never closed", at)
            self.position = end + 1
            return Part("opaque", quoted=quoted)
        following = self.data[at + 1 : at + 2]
        if following == b"(":
            self.position += 2
            self._skip_balanced(b"(", b")")
            return Part("opaque", quoted=quoted)
        if following == b"{":
            self.position += 2
            begun = self.position
            self._skip_balanced(b"{", b"}")
            return self._braced(begun, self.position - 1, quoted=quoted)
        if following in (b"@", b"*"):
            self.position += 2
            return Part("arguments", quoted=quoted)
        name = _NAME.match(self.data, at + 1)
        if name is not None:
            self.position = name.end()
            return Part("variable", name=name[0].decode(), quoted=quoted)
        if following and following in b"0123456789?#$!-":
            self.position += 2
            return Part("opaque", quoted=quoted)
        self.position += 1
        return Part("text", b"$", (self._span(at),), quoted=quoted)

    def _braced(self, begin: int, end: int, *, quoted: bool) -> Part:
        content = self.data[begin:end]
        if content in (b"@", b"*"):
            return Part("arguments", quoted=quoted)
        match = re.fullmatch(rb"([A-Za-z_][A-Za-z0-9_]*)(?:\[[@*]\](.*)|(:?-)(.*)|(.*))", content, re.DOTALL)
        if match is None or match[5] or match[2]:
            return Part("opaque", name=match[1].decode() if match else "", quoted=quoted)
        name = match[1].decode()
        if match[2] is not None:
            return Part("array", name=name, quoted=quoted)
        if match[3] is None:
            return Part("variable", name=name, quoted=quoted)
        default = match[4]
        if re.search(rb"[\s\"'\\$`]", default):
            return Part("opaque", name=name, quoted=quoted)
        spans = tuple(self._span(begin + match.start(4) + index) for index in range(len(default)))
        return Part("variable", name=name, default=(default, spans), quoted=quoted)

    def _skip_balanced(self, opening: bytes, closing: bytes) -> None:
        """Past the closing mark that belongs to the one just read, over quotes and nested marks."""
        begun, depth = self.position, 1
        while depth:
            octet = self._peek()
            if not octet:
                raise ShellError(f"{opening.decode()} is never closed", begun)
            if octet == b"\\":
                self.position += 2
                continue
            if octet == b"'" and closing == b")":
                end = self.data.find(b"'", self.position + 1)
                if end < 0:
                    raise ShellError("a quote is never closed", self.position)
                self.position = end + 1
                continue
            if octet == b'"':
                self._double_quoted()
                continue
            depth += (octet == opening) - (octet == closing)
            self.position += 1
