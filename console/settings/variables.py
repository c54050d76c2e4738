"""The variables of a unit: what each is, and which file decides it."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from dataclasses import dataclass

from console.settings.specifiers import specifiers
from console.settings.text import Doubt, Origin, Text, plain, unknown
from console.units.effective import EffectiveUnit
from console.units.environment import (
    EnvironmentFile,
    Variable,
    environment,
    environment_files,
    read_environment_file,
    unset,
)
from console.units.environment_file import read_environment

_SPECIFIER = re.compile(rb"%(.)")


@dataclass(frozen=True)
class Definition:
    """What is known of a variable: its value, the place, and the environment files nobody read that may set it."""

    name: str
    value: Text | None
    where: str
    unread: tuple[EnvironmentFile, ...]

    @property
    def place(self) -> str:
        if self.value is not None and not self.unread:
            return self.where
        files = " or ".join(f"EnvironmentFile={each.name} ({each.where})" for each in self.unread)
        return " or ".join(filter(None, (self.where, files))) or "no file we can see"

    @property
    def text(self) -> Text:
        """Its value, with a doubt where a file that nobody read may decide it; empty where it is set nowhere."""
        if self.unread:
            return unknown(f"${self.name}, set in {self.place}", self.unread[-1].where)
        return self.value if self.value is not None else Text()


def definition(unit: EffectiveUnit, name: str) -> Definition:
    """Where a variable is set: environment files go before Environment=, later ones before earlier ones."""
    value: Text | None = None
    where = ""
    for variable in environment(unit):
        if variable.name == name:
            value, where = _from_unit(unit, variable), variable.where
    unread: list[EnvironmentFile] = []
    for file in environment_files(unit):
        paths = file_paths(unit, file)
        if paths is None:
            unread.append(file)
            continue
        for path in paths:
            for variable in read_environment_file(path, unit.files[path]):
                if variable.name == name:
                    empty = Origin(path, variable.start, variable.start)
                    text = plain(variable.octets, path, variable.spans)
                    value, where = Text(text.octets, text.origins, empty), variable.where
                    unread.clear()
    if {name, f"{name}={value}"} & unset(unit):
        value, where = None, ""
    return Definition(name, value, where, tuple(unread))


def file_paths(unit: EffectiveUnit, file: EnvironmentFile) -> list[str] | None:
    """The files that a line of EnvironmentFile= reads, in order; None where we have not read one that may be there."""
    name = unit.resolved.get(file.name) or specifiers(file.name, unit.name) or file.name
    if re.search(r"[*?[]", name):
        return sorted(path for path in unit.files if fnmatch.fnmatch(path, name))
    if name in unit.files:
        return [name]
    if file.name in unit.files:
        return [file.name]
    return [] if name in unit.missing else None


def _from_unit(unit: EffectiveUnit, variable: Variable) -> Text:
    """A value of Environment=, in which systemd fills in specifiers."""
    text = plain(variable.octets, variable.path, variable.spans)
    # Where an empty value would stand: before the quote that ends the word, if one does.
    at = variable.end - (unit.content(variable.path)[variable.end - 1 : variable.end] in (b'"', b"'"))
    return Text(*_without_specifiers(text, variable.where), Origin(variable.path, at, at))


def _without_specifiers(text: Text, where: str) -> tuple[bytes, tuple[Origin | Doubt, ...]]:
    octets, origins = bytearray(), list[Origin | Doubt]()
    done = 0
    for match in _SPECIFIER.finditer(text.octets):
        octets += text.octets[done : match.start()]
        origins += text.origins[done : match.start()]
        if match[1] == b"%":
            octets += b"%"
            origins += text.origins[match.start() : match.start() + 1]
        else:
            shown = match[0].decode("utf-8", "replace")
            octets += match[0]
            origins += [Doubt(f"{shown}, which systemd fills in", where)] * len(match[0])
        done = match.end()
    return bytes(octets + text.octets[done:]), (*origins, *text.origins[done:])


def resolve_specifiers(text: Text, where: str) -> Text:
    """`%%` as `%`; any other specifier stays as it is written, with a doubt."""
    return Text(*_without_specifiers(text, where))


def commented_out(unit: EffectiveUnit, names: tuple[str, ...]) -> Iterator[str]:
    """`file:line` of comments in environment files and unit files that set one of the names."""
    for path, content in unit.files.items():
        for name, line in read_environment(content).commented:
            if name in names:
                yield f"{path}:{line}"
    pattern = re.compile(rb"[#;\s]*Environment=[\"']?(" + b"|".join(name.encode() for name in names) + rb")=")
    for source in unit.sources:
        for each in source.text.lines:
            if names and each.is_comment and pattern.match(each.content):
                yield f"{source.path}:{each.number}"
