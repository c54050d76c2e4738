"""The variables systemd gives a service: Environment= lines and environment files, with the place of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from console.units.effective import Assignment, EffectiveUnit
from console.units.environment_file import read_environment
from console.units.words import UnbalancedQuoteError, Word, first_word

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Variable:
    """`NAME=value` and where it stands. `start`, `end`: the whole word in that file, quotes included.

    `spans[i]` is where byte i of the value (`octets`) stands; in an environment file `start` is where an empty one
    would.
    """

    name: str
    value: str
    path: str
    line: int
    start: int = 0
    end: int = 0
    octets: bytes = b""
    spans: tuple[tuple[int, int], ...] = ()

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
        text = unit.source(each.path).text
        for word in _words(each):
            name, equals, content = word.text.partition("=")
            if equals and _NAME.fullmatch(name):
                skip = len(name) + 1
                line = text.line_at(word.start)
                value_of = (word.octets[skip:], word.spans[skip:])
                found.append(Variable(name, content, each.path, line, word.start, word.end, *value_of))
    return tuple(found)


def unset(unit: EffectiveUnit) -> frozenset[str]:
    """What UnsetEnvironment= takes away at last: `NAME` whatever it says, `NAME=value` where it says just that."""
    return frozenset(word.text for each in unit.assignments("Service", "UnsetEnvironment") for word in _words(each))


def _words(assignment: Assignment) -> Iterator[Word]:
    """systemd keeps the words before one it cannot read, and ignores the rest of the line."""
    position = 0
    while True:
        try:
            word, position = first_word(assignment.statement.value, position)
        except UnbalancedQuoteError:
            return
        if word is None or word.unknown_escape:
            return
        yield word


def environment_files(unit: EffectiveUnit) -> tuple[EnvironmentFile, ...]:
    """In the order systemd reads them; what a file sets goes before Environment=. The value is a path, never quoted."""
    return tuple(
        EnvironmentFile(each.value.removeprefix("-"), each.value.startswith("-"), each.path, each.line)
        for each in unit.assignments("Service", "EnvironmentFile")
    )


def read_environment_file(path: str, content: bytes) -> tuple[Variable, ...]:
    """The assignments of an environment file; a file that is not UTF-8 sets nothing."""
    read = read_environment(content)
    if not read.is_valid:
        return ()
    return tuple(
        Variable(
            each.name,
            each.octets.decode("utf-8", "replace"),
            path,
            each.line,
            each.at,
            each.end,
            each.octets,
            each.spans,
        )
        for each in read.variables
    )
