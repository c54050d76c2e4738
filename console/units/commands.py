"""The commands of an ExecStart= line: prefixes, program, words; and what systemd refuses in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from console.units.text import BLANKS, Joined
from console.units.words import UnbalancedQuoteError, Word, first_word

# The specifiers of systemd 252 in a unit; another letter or digit after `%` is fatal.
SPECIFIERS = frozenset("aAbBcCdEfgGhHiIjJlLmMnNopPqrRsStTuUvVwWyY%")

ComplaintKind = Literal[
    "unbalanced-quote", "unknown-escape", "unknown-specifier", "no-program", "bad-program", "inline-comment"
]


@dataclass(frozen=True)
class Complaint:
    """What is wrong in an Exec line, and whether the unit then fails to load."""

    kind: ComplaintKind
    offset: int
    text: str
    fatal: bool


@dataclass(frozen=True)
class Command:
    """One command. `words` is argv, so with the `@` prefix its first word is not the program."""

    prefixes: str
    program: Word
    words: tuple[Word, ...]
    end: int  # offset in the file just after its last word
    path: str = ""  # the file it stands in
    line: int = 0

    @property
    def argv(self) -> list[str]:
        """The words unquoted, `$` and `%` as written."""
        return [word.text for word in self.words]


@dataclass(frozen=True)
class ExecLine:
    """What systemd makes of the value of one Exec*= assignment."""

    commands: tuple[Command, ...]
    complaints: tuple[Complaint, ...]

    @property
    def is_fatal(self) -> bool:
        return any(complaint.fatal for complaint in self.complaints)


@lru_cache(maxsize=256)  # the same line is asked for by every step
def parse_exec(value: Joined) -> ExecLine:
    """The commands of a value, which a lone unquoted `;` separates (config_parse_exec of systemd 252)."""
    commands: list[Command] = []
    complaints: list[Complaint] = []
    position = 0
    while True:
        try:
            word, position = first_word(value, position)
        except UnbalancedQuoteError:
            complaints.append(Complaint("unbalanced-quote", value[position:].anchor, value.data.decode(), fatal=False))
            break
        if word is None:
            break
        if word.octets == b";":
            continue
        prefixes, program = _program(word)
        ignores_failure = "-" in prefixes
        problem = _program_problem(program)
        if problem:
            complaints.append(Complaint(problem, word.start, program.text, fatal=not ignores_failure))
            break
        words: list[Word] = [] if "@" in prefixes else [program]
        end = program.end
        more = False
        try:
            for item, after in _arguments(value, position):
                position = after
                if item is None:
                    more = True
                    continue
                words.append(item if ":" not in prefixes else replace(item, expands=False))
                end = item.end
        except UnbalancedQuoteError:
            complaints.append(Complaint("unbalanced-quote", value[position:].anchor, "", fatal=not ignores_failure))
            break
        unknown = [item for item in words if not SPECIFIERS.issuperset(item.specifiers)]
        if unknown or not words:
            kind: ComplaintKind = "unknown-specifier" if unknown else "no-program"
            text = unknown[0].text if unknown else program.text
            complaints.append(Complaint(kind, (unknown or [program])[0].start, text, fatal=not ignores_failure))
            break
        complaints += [
            Complaint("unknown-escape", item.start, item.text, fatal=False) for item in words if item.unknown_escape
        ]
        comment = next((item for item in words[1:] if item.bare and item.octets.startswith(b"#")), None)
        if comment is not None:
            complaints.append(Complaint("inline-comment", comment.start, comment.text, fatal=False))
        commands.append(Command(prefixes, program, tuple(words), end))
        if not more:
            break
    return ExecLine(tuple(commands), tuple(complaints))


def _arguments(value: Joined, position: int) -> Iterator[tuple[Word | None, int]]:
    """(word, next position) up to the end or to a lone `;`, which comes as None. Raises UnbalancedQuoteError."""
    while True:
        rest = value.data[position:]
        if rest[:1] == b";" and rest[1:2].strip(BLANKS) == b"":
            yield None, position + 1
            return
        if rest[:2] == rb"\;" and rest[2:3].strip(BLANKS) == b"":
            spans = (value.offsets[position], value.offsets[position + 1] + 1)
            yield Word(b";", *spans, (spans,), bare=False), position + 2
            position += 2
            while position < len(value.data) and value.data[position] in BLANKS:
                position += 1
            continue
        word, position = first_word(value, position)
        if word is None:
            return
        yield word, position


def _program(word: Word) -> tuple[str, Word]:
    """The prefixes `@ - : + ! !!` and the program after them; a prefix that is not allowed twice ends them."""
    prefixes = ""
    text = word.octets
    while text:
        letter = chr(text[0])
        privilege = any(mark in prefixes for mark in "+!")
        allowed = (
            (letter in "-@:" and letter not in prefixes)
            or (letter == "+" and not privilege)
            or (letter == "!" and "+" not in prefixes and "!!" not in prefixes)
        )
        if not allowed:
            break
        prefixes += letter
        text = text[1:]
    return prefixes, word.drop(len(prefixes))


def _program_problem(program: Word) -> ComplaintKind | Literal[""]:
    if not SPECIFIERS.issuperset(program.specifiers):
        return "unknown-specifier"
    path = program.octets
    if not path:
        return "no-program"
    unsafe = re.search(rb"[\x00-\x1f\"'\\\x7f]", path)
    if unsafe or path.endswith(b"/") or (not path.startswith((b"/", b"%")) and b"/" in path):
        return "bad-program"
    return ""
