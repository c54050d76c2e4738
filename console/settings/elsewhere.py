"""The places a setting can live that we do not edit, each refused by name: file and line where it can."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from console.engines.base import Engine
from console.errors import SettingElsewhereError
from console.settings.flags import Occurrence, Sought, occurrences
from console.settings.launch import Launch
from console.units.commands import Command
from console.units.effective import EffectiveUnit
from console.units.environment import EnvironmentFile, environment, environment_files, read_environment_file

_GENERATED = re.compile(
    r"/run/systemd/(generator(\.early|\.late)?|transient)/|/nix/store/|\.(container|kube|pod|image)\Z"
)
_PACKAGED = re.compile(r"/(usr/)?lib/systemd/")
# Where only packages write: a link out of /etc may lead to any place there.
_PACKAGED_TARGET = re.compile(r"/usr/(?!local/)|/lib(32|64)?/|/gnu/store/|/snap/")
# Options of engines that name a file with more options in it.
_CONFIG_OPTIONS = ("--config", "--config-file", "--models-preset", "--preset")
_HOLDS_OPTIONS = re.compile(r"(?i)args?$|opts?$|options?$|flags?$|extra|params?$")


@dataclass(frozen=True)
class Definition:
    """What is known of a variable: its value, the place, and the environment files nobody read that may set it."""

    name: str
    value: str | None
    where: str
    unread: tuple[EnvironmentFile, ...]

    @property
    def place(self) -> str:
        if self.value is not None and not self.unread:
            return self.where
        files = " or ".join(f"EnvironmentFile={each.name} ({each.where})" for each in self.unread)
        return " or ".join(filter(None, (self.where, files))) or "no file we can see"


def definition(unit: EffectiveUnit, name: str) -> Definition:
    """Where a variable is set: environment files go before Environment=, later ones before earlier ones."""
    value: str | None = None
    where = ""
    for variable in environment(unit):
        if variable.name == name:
            value, where = variable.value, variable.where
    unread: list[EnvironmentFile] = []
    for file in environment_files(unit):
        if file.name not in unit.files:
            unread.append(file)
            continue
        for variable in read_environment_file(file.name, unit.files[file.name]):
            if variable.name == name:
                value, where = variable.value, variable.where
                unread.clear()
    return Definition(name, value, where, tuple(unread))


def refuse_file(unit: EffectiveUnit, path: str) -> None:
    """Raises for a file that something else writes: a generator, a package, a store."""
    fragment = unit.sources[0].path
    if unit.source_path and path == fragment and unit.source_path != path:
        raise SettingElsewhereError(f"{path} is generated from {unit.source_path}", where=unit.source_path)
    if _GENERATED.search(path):
        raise SettingElsewhereError(
            f"{path} is not a file to edit: it is generated, or the source of a generator", where=path
        )
    if _PACKAGED.match(path):
        raise SettingElsewhereError(
            f"{path} belongs to a package, whose next update would undo an edit",
            where=path,
            hint=f"systemctl edit --full {unit.name} makes a copy under /etc that can be edited",
        )


def refuse_real_path(path: str, real_path: str) -> None:
    """Raises for a file that is a link to one which something else writes: an edit goes where the link leads."""
    if real_path == path:
        return
    if _GENERATED.search(real_path):
        raise SettingElsewhereError(
            f"{path} is a link to {real_path}, which is generated: not a file to edit", where=real_path
        )
    if _PACKAGED_TARGET.match(real_path):
        raise SettingElsewhereError(
            f"{path} is a link to {real_path}, which belongs to a package, whose next update would undo an edit",
            where=real_path,
            hint=f"put a copy in the place of the link: cp --remove-destination {real_path} {path}",
        )


def refuse_lost(unit: EffectiveUnit, engine: Engine, what: Sought) -> None:
    """Raises where the flag stands in a line that systemd does not read as part of ExecStart."""
    for source in unit.sources:
        for line in source.text.lost_lines:
            if occurrences(_split(line.content), engine, what):
                stopped = source.text.stopped_at
                reason = "the command ended in a line before it"
                if stopped is not None and line.number >= stopped.first_line:
                    reason = f"it cannot read line {stopped.first_line}"
                raise SettingElsewhereError(
                    f"{what.flags[0]} stands there, but systemd drops the line: {reason}",
                    where=f"{source.path}:{line.number}",
                    hint="repair the file by hand: no blank after a backslash, no empty line inside a command",
                )


def _split(content: bytes) -> list[str]:
    return content.decode("utf-8", "replace").rstrip("\\ \t").split()


def refuse_variables(unit: EffectiveUnit, command: Command, first: int, engine: Engine, what: Sought) -> None:
    """Raises where the flag comes, or may come, out of a variable in the command line."""
    for name, index in _variables(command, first):
        found = definition(unit, name)
        if found.value is not None and occurrences(found.value.split(), engine, what):
            raise SettingElsewhereError(
                f"{what.flags[0]} comes out of ${name}, set in {found.place}", where=found.where
            )
        if found.unread and _may_hold_options(command, index, name, engine):
            raise SettingElsewhereError(
                f"{what.flags[0]} may come out of ${name}, set in {found.place}", where=found.unread[-1].where
            )


def refuse_override(
    unit: EffectiveUnit, command: Command, last: Occurrence, engine: Engine, what: Sought
) -> tuple[str, ...]:
    """Raises where a variable after the flag gives it again and so wins; notes where that cannot be seen."""
    notes: list[str] = []
    for name, index in _variables(command, last.value_index):
        found = definition(unit, name)
        if found.value is not None and occurrences(found.value.split(), engine, what):
            raise SettingElsewhereError(
                f"{what.flags[0]} in ExecStart is overridden by ${name}, set in {found.place}", where=found.where
            )
        if found.unread and _may_hold_options(command, index, name, engine):
            notes.append(f"${name} stands after {what.flags[0]} and could override it; it is set in {found.place}")
    return tuple(notes)


def _variables(command: Command, after: int) -> Iterator[tuple[str, int]]:
    for index in range(after + 1, len(command.words)):
        for name in command.words[index].variables:
            yield name, index


def _may_hold_options(command: Command, index: int, name: str, engine: Engine) -> bool:
    """Whether a variable nobody can read stands where options stand, and not where one option has its value."""
    before = command.argv[index - 1]
    if not before.startswith("-") or "=" in before or _HOLDS_OPTIONS.search(name):
        return command.argv[index] in (f"${name}", f"${{{name}}}")
    full = engine.resolve_flag(before)
    return any(full in each.flags and each.kind == "flag" for each in engine.spellings.values())


def refuse_value(unit: EffectiveUnit, command: Command, last: Occurrence, what: Sought) -> None:
    """Raises where the value is not literal: a variable, or a specifier of systemd."""
    word = command.words[last.value_index]
    for name in word.variables:
        found = definition(unit, name)
        shown = f" (now {found.value})" if found.value is not None and not found.unread else ""
        raise SettingElsewhereError(
            f"the value of {what.flags[0]} is ${{{name}}}{shown}, set in {found.place}",
            where=found.where or unit.where(command.path, word.start),
        )
    if not word.literal:
        raise SettingElsewhereError(
            f"the value of {what.flags[0]} is {word.text}, which systemd fills in",
            where=unit.where(command.path, word.start),
        )


def refuse_launch(unit: EffectiveUnit, command: Command, launch: Launch, engine: Engine, what: Sought) -> None:
    """Raises where ExecStart does not start the engine itself: a shell, a script, a container made elsewhere."""
    if launch.kind == "engine":
        return
    word = command.words[launch.place]
    where = unit.where(command.path, word.start)
    if launch.kind == "shell-string":
        inside = occurrences(word.text.split(), engine, what)
        verb = "stands" if inside else "would stand"
        message = f"{what.flags[0]} {verb} inside the command line of a shell"
        variable = re.search(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)", inside[-1].value or "") if inside else None
        if variable:
            message += f", as ${variable[1]}, set in {definition(unit, variable[1]).place}"
        raise SettingElsewhereError(message, where=where)
    if launch.kind == "script":
        place = _line_in_file(unit, word.text, engine, what) or word.text
        raise SettingElsewhereError(f"ExecStart runs the script {word.text}, which starts the engine", where=place)
    if launch.kind == "compose":
        raise SettingElsewhereError("ExecStart runs a compose file, which holds the engine's options", where=where)
    raise SettingElsewhereError(
        "ExecStart starts a container that was made elsewhere, with its options in it", where=where
    )


def _line_in_file(unit: EffectiveUnit, path: str, engine: Engine, what: Sought) -> str:
    """`file:line` of the last line of a file we have that gives the flag; "" where none does."""
    place = ""
    for number, line in enumerate(unit.files.get(path, b"").splitlines(), 1):
        if not line.lstrip().startswith(b"#") and occurrences(_split(line), engine, what):
            place = f"{path}:{number}"
    return place


def refuse_config(unit: EffectiveUnit, command: Command, first: int, what: Sought) -> None:
    """Raises where a file of options is given, which may hold the setting."""
    argv = command.argv
    for index in range(first + 1, len(argv)):
        name, equals, value = argv[index].partition("=")
        if name not in _CONFIG_OPTIONS:
            continue
        file = value if equals else argv[index + 1] if index + 1 < len(argv) else ""
        raise SettingElsewhereError(
            f"{what.flags[0]} is not in ExecStart, and {name} {file} may hold it",
            where=file or unit.where(command.path, command.words[index].start),
        )


def refuse_environment(unit: EffectiveUnit, command: Command, what: Sought) -> None:
    """Raises where a variable of the engine's own gives the setting."""
    for name in what.environment:
        for word in command.words:
            if word.text.startswith(f"{name}="):
                where = unit.where(command.path, word.start)
                raise SettingElsewhereError(f"{what.name} is set by the variable {name} in ExecStart", where=where)
        found = definition(unit, name)
        if found.value is not None:
            raise SettingElsewhereError(
                f"{what.name} is set by the variable {name} in {found.place}", where=found.where
            )
