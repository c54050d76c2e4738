"""The variables systemd gives a service: Environment= lines and environment files, with the place of each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from console.units.effective import EffectiveUnit
from console.units.text import BLANKS, UnitText
from console.units.words import UnbalancedQuoteError, first_word

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Variable:
    """`NAME=value` and where it stands. `start`, `end`: the whole word in that file, quotes included."""

    name: str
    value: str
    path: str
    line: int
    start: int = 0
    end: int = 0

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class EnvironmentFile:
    """A path of EnvironmentFile= (a pattern, maybe, and with `%` as written); `optional`: written with `-`."""

    name: str
    optional: bool
    path: str
    line: int

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}"


def environment(unit: EffectiveUnit) -> tuple[Variable, ...]:
    """The variables of Environment= in order; a later one of the same name wins. Invalid words are left out."""
    found: list[Variable] = []
    for each in unit.assignments("Service", "Environment"):
        value, position = each.statement.value, 0
        text = unit.source(each.path).text
        while True:
            try:
                word, position = first_word(value, position)
            except UnbalancedQuoteError:
                break  # systemd keeps the words before it and ignores the rest of the line
            if word is None or word.unknown_escape:
                break
            name, equals, content = word.text.partition("=")
            if equals and _NAME.fullmatch(name):
                found.append(Variable(name, content, each.path, text.line_at(word.start), word.start, word.end))
    return tuple(found)


def environment_files(unit: EffectiveUnit) -> tuple[EnvironmentFile, ...]:
    """In the order systemd reads them; what a file sets goes before Environment=. The value is a path, never quoted."""
    return tuple(
        EnvironmentFile(each.value.removeprefix("-"), each.value.startswith("-"), each.path, each.line)
        for each in unit.assignments("Service", "EnvironmentFile")
    )


def read_environment_file(path: str, content: bytes) -> tuple[Variable, ...]:
    """The assignments of an environment file, one a line; quotes around a value are taken off.

    Comment lines begin with # or ;, a backslash at the end of a line joins the next. An `export` stays in the name,
    as systemd has it, so that such a line sets nothing.
    """
    found: list[Variable] = []
    lines = iter(UnitText.parse(content).lines)
    for line in lines:
        if line.is_blank or line.is_comment:
            continue
        number, text, end = line.number, line.content, line.start + len(line.content)
        while text.endswith(b"\\") and (following := next(lines, None)) is not None:
            text, end = text[:-1] + following.content, following.start + len(following.content)
        name, equals, value = text.decode("utf-8", "backslashreplace").partition("=")
        if equals and _NAME.fullmatch(name.strip(BLANKS.decode())):
            found.append(Variable(name.strip(), _unquoted(value.strip()), path, number, line.start, end))
    return tuple(found)


def _unquoted(value: str) -> str:
    match = re.fullmatch(r"""(["'])(.*)\1""", value, re.DOTALL)
    if not match:
        return re.sub(r"\\(.)", r"\1", value)
    return re.sub(r'\\(["\\`$])', r"\1", match[2]) if match[1] == '"' else match[2]
