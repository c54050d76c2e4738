"""One edit of a unit: the bytes of one value in ExecStart, and the proof that nothing else changes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from console.engines.base import Engine
from console.errors import InternalError, RefusedError, SettingNotFoundError, UnexpectedValueError
from console.schema.splice import Splice, apply
from console.settings.flags import Occurrence, Sought, sought
from console.settings.locate import Absent, Found, locate, only_command
from console.settings.sanity import check_not_secret, check_sense, check_value
from console.units.commands import Command
from console.units.effective import EffectiveUnit
from console.units.words import Word


@dataclass(frozen=True)
class Edit:
    """What to change in one file. `already`: the value is as wanted, so there are no splices.

    `before` is None where the setting was absent. The argv lists hold unquoted words, `$` and `%` as written.
    `notes` are sentences for the person who reads the plan.
    """

    path: str
    line: int
    setting: str  # the setting, or the flag as given
    before: str | None
    after: str
    splices: tuple[Splice, ...]
    argv_before: tuple[str, ...]
    argv_after: tuple[str, ...]
    already: bool
    notes: tuple[str, ...] = ()


def plan_edit(
    unit: EffectiveUnit,
    engine: Engine,
    *,
    setting: str | None = None,
    flag: str | None = None,
    to: str | int | float | bool,
    expect: str | int | float | bool | None = None,
    when_absent: Literal["error", "add"] = "error",
) -> Edit:
    """The edit that gives a setting (or a flag, verbatim) the value `to`.

    A value that means the same already is left alone, whatever `expect` says. Raises RefusedError for a value that
    is not one plain word, SettingNotFoundError, SettingElsewhereError, UnexpectedValueError.
    """
    what = sought(engine, setting=setting, flag=flag)
    for name in {what.name, *what.flags}:
        check_not_secret(name)
    after = as_text(to)
    check_value(what.name, after)
    check_sense(what.name, after, engine)
    place = locate(unit, engine, what)
    if what.kind == "flag":
        return _switch(unit, what, place, after, when_absent)
    if what.setting is not None:
        try:
            engine.parse_value(what.setting, after)
        except ValueError as error:
            raise RefusedError(f"{what.name}: {engine.name} cannot read {after!r}: {error}") from error
    wanted = None if expect is None else as_text(expect)
    if isinstance(place, Absent):
        if when_absent == "error":
            raise _not_found(unit, what, place)
        if wanted is not None:
            raise UnexpectedValueError(
                f"{what.name} is absent, expected {wanted}", where=f"{place.command.path}:{place.command.line}"
            )
        return _added(unit, what, place, [what.flags[0], after], after)
    return _replaced(unit, engine, what, place, after, wanted)


def as_text(value: str | int | float | bool) -> str:
    """A value of a runbook as a word: `True` is `true`, numbers in their shortest form."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _not_found(unit: EffectiveUnit, what: Sought, place: Absent) -> SettingNotFoundError:
    near = f"; it has {', '.join(place.nearest)}" if place.nearest else ""
    spelled = what.name if what.name == what.flags[0] else f"{what.name} ({what.flags[0]})"
    return SettingNotFoundError(
        f"{spelled} is not in ExecStart of {unit.name}{near}",
        where=f"{place.command.path}:{place.command.line}",
        hint='when_absent = "add" appends it',
    )


def _replaced(unit: EffectiveUnit, engine: Engine, what: Sought, place: Found, after: str, expect: str | None) -> Edit:
    command, last = place.command, place.occurrence
    word = command.words[last.value_index]
    source = unit.source(command.path)
    where = unit.where(command.path, word.start)
    before = last.value
    if before is None or (not last.is_joined and before.startswith("--")):
        raise RefusedError(f"{what.flags[0]} has no value", where=where)
    argv = tuple(command.argv)
    line = source.text.line_at(word.start)
    if what.same(engine, before, after):
        return Edit(command.path, line, what.name, before, after, (), argv, argv, already=True, notes=place.notes)
    if expect is not None and not what.same(engine, before, expect):
        raise UnexpectedValueError(f"{what.name} is {before}, expected {expect}", where=where)
    argv_after = list(argv)
    argv_after[last.value_index] = word.octets[: last.skip].decode("utf-8", "backslashreplace") + after
    for start, end in _spans(word, last):
        splice = Splice(start=start, old=source.content[start:end], new=after.encode())
        if _changes_only(unit, command, splice, argv_after):
            return Edit(
                command.path, line, what.name, before, after, (splice,), argv, tuple(argv_after), False, place.notes
            )
    raise RefusedError(f"the value of {what.flags[0]} cannot be replaced without touching more than it", where=where)


def _spans(word: Word, occurrence: Occurrence) -> list[tuple[int, int]]:
    """The bytes of the value to try in turn: without quotes around it, then with them."""
    spans = word.spans[occurrence.skip :]
    outer = (word.spans[occurrence.skip - 1][1] if occurrence.skip else word.start, word.end)
    return [(spans[0][0], spans[-1][1]), outer] if spans else [outer]


def _switch(
    unit: EffectiveUnit, what: Sought, place: Found | Absent, after: str, when_absent: Literal["error", "add"]
) -> Edit:
    """A flag without a value: it stands there or not; it can be added, not taken away."""
    if after not in ("true", "false"):
        raise RefusedError(f"{what.name} is true or false, not {after}")
    command = place.command
    argv = tuple(command.argv)
    if isinstance(place, Found):
        word = command.words[place.occurrence.index]
        if after == "false":
            raise RefusedError(
                f"{what.flags[0]} is on; taking a flag away is not an edit of a value",
                where=unit.where(command.path, word.start),
                hint="remove it by hand",
            )
        line = unit.source(command.path).text.line_at(word.start)
        return Edit(command.path, line, what.name, "true", after, (), argv, argv, already=True, notes=place.notes)
    if after == "false":
        return Edit(command.path, command.line, what.name, None, after, (), argv, argv, already=True)
    if when_absent == "error":
        raise _not_found(unit, what, place)
    return _added(unit, what, place, [what.flags[0]], after)


def _added(unit: EffectiveUnit, what: Sought, place: Absent, words: list[str], after: str) -> Edit:
    """The words at the end of the command, on a line of their own where the command is written so."""
    command = place.command
    source = unit.source(command.path)
    index = _last_real_word(command)
    anchor = command.words[index]
    if len(words) == 2 and _joins(command):
        words = ["=".join(words)]
    new = _separator(unit, command, anchor)
    splice = Splice(start=anchor.end, old=b"", new=new + " ".join(words).encode())
    argv = tuple(command.argv)
    argv_after = [*argv[: index + 1], *words, *argv[index + 1 :]]
    if not _changes_only(unit, command, splice, argv_after):
        where = unit.where(command.path, anchor.start)
        raise RefusedError(f"{words[0]} cannot be added after {anchor.text} without touching more", where=where)
    after_unit = unit.with_content(command.path, apply(source.content, [splice]))
    line = after_unit.source(command.path).text.line_at(anchor.end + len(new))
    return Edit(command.path, line, what.name, None, after, (splice,), argv, tuple(argv_after), False, place.notes)


def _last_real_word(command: Command) -> int:
    """The last word before what only looks like a comment, or before a backslash with a blank after it."""
    for index, word in enumerate(command.words[1:], 1):
        if word.octets == b"\\" or (word.bare and word.octets.startswith(b"#")):
            return index - 1
    return len(command.words) - 1


def _joins(command: Command) -> bool:
    """Whether the command writes its long flags as `--flag=value`."""
    argv = command.argv
    joined = any(word.startswith("--") and "=" in word for word in argv)
    apart = any(
        word.startswith("--") and "=" not in word and not following.startswith("-")
        for word, following in pairwise(argv)
    )
    return joined and not apart


def _separator(unit: EffectiveUnit, command: Command, anchor: Word) -> bytes:
    """A blank, or the continuation the lines of the command are written with."""
    text = unit.source(command.path).text
    number = text.line_at(anchor.start)
    if number == text.line_at(command.program.start):
        return b" "
    content, ending = text.lines[number - 1].content, text.lines[number - 2].ending
    return b" \\" + ending + content[: len(content) - len(content.lstrip(b" \t"))]


def _changes_only(unit: EffectiveUnit, command: Command, splice: Splice, argv_after: list[str]) -> bool:
    """Reads the unit again after the edit: exactly the intended words differ, in this command and nowhere else."""
    source = unit.source(command.path)
    try:
        changed = unit.with_content(command.path, apply(source.content, [splice]))
        found = only_command(changed)
    except (RefusedError, ValueError):
        return False
    if found.argv != argv_after or found.prefixes != command.prefixes or found.program.octets != command.program.octets:
        return False
    before, after = source.text.statements, changed.source(command.path).text.statements
    if len(before) != len(after):
        raise InternalError(f"an edit of {command.path} changed how many lines systemd reads", where=command.path)
    differing = [
        one
        for one, other in zip(before, after, strict=True)
        if (one.kind, one.section, one.key, one.value.data) != (other.kind, other.section, other.key, other.value.data)
    ]
    return len(differing) == 1 and differing[0].key == "ExecStart"
