"""The proof of an edit: read again, exactly the intended word differs, in its file and in what the engine gets."""

from __future__ import annotations

from collections.abc import Sequence

from console.errors import RefusedError
from console.schema.splice import Splice, apply
from console.settings.sites import Reading
from console.settings.variables import file_paths
from console.units.effective import EffectiveUnit, UnitSource
from console.units.environment import environment_files
from console.units.environment_file import read_environment
from console.units.notices import notices
from console.units.shell import ShellError, read_commands


def changes_only(
    unit: EffectiveUnit,
    path: str,
    splices: Sequence[Splice],
    reading: Reading,
    wanted: tuple[str, ...],
    *,
    added_lines: int = 0,
) -> bool:
    """Whether the words are `wanted` after the edit, and nothing else of the file means something else."""
    try:
        changed = unit.with_content(path, apply(unit.content(path), splices))
        if reading(changed) != wanted:
            return False
        if [each.kind for each in notices(changed)] != [each.kind for each in notices(unit)]:
            return False
        return (
            _one_thing(unit, changed, path) == (0 if added_lines else 1) and _added(unit, changed, path) == added_lines
        )
    except (RefusedError, ValueError, KeyError):
        return False


def _one_thing(unit: EffectiveUnit, changed: EffectiveUnit, path: str) -> int:
    """How many things of a file differ: statements, variables, or words of a script; 2 and more is too many."""
    before, after = unit.content(path), changed.content(path)
    if path not in unit.files or (path.endswith((".container", ".service", ".conf")) and _is_unit(before)):
        return _differing(_statements(before), _statements(after))
    if _is_read_as_environment(unit, path):
        one, other = read_environment(before), read_environment(after)
        if not other.is_valid:
            return 2
        return _differing([(v.name, v.octets) for v in one.variables], [(v.name, v.octets) for v in other.variables])
    if before.startswith(b"#!"):
        try:
            return _differing(_shell(before), _shell(after))
        except ShellError:
            return 2
    return 1 if before != after else 0


def _is_unit(content: bytes) -> bool:
    return any(each.kind == "section" for each in UnitSource("", content).text.statements)


def _is_read_as_environment(unit: EffectiveUnit, path: str) -> bool:
    return any(path in (file_paths(unit, file) or ()) for file in environment_files(unit))


def _statements(content: bytes) -> list[object]:
    text = UnitSource("", content).text
    return [(each.kind, each.section, each.key, each.value.data) for each in text.statements]


def _shell(content: bytes) -> list[object]:
    found: list[object] = []
    for command in read_commands(content):
        for each in command.assignments:
            found.append((each.name, each.appends, each.is_array))
            found += [_word(item) for item in ((each.value,) if each.value is not None else each.items)]
        found.append((command.depth, command.after))
        found += [_word(word) for word in command.words]
    return found


def _word(word: object) -> object:
    parts = getattr(word, "parts", ())
    return tuple((part.kind, part.octets, part.name, part.default and part.default[0]) for part in parts)


def _differing(one: Sequence[object], other: Sequence[object]) -> int:
    """How many places differ, over the common beginning and end."""
    if len(one) != len(other):
        start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
        rest = max(len(one), len(other)) - start
        common = 0
        while common < rest and common < min(len(one), len(other)) - start and one[-1 - common] == other[-1 - common]:
            common += 1
        return 0 if min(len(one), len(other)) == start + common else 2
    return sum(a != b for a, b in zip(one, other, strict=True))


def _added(unit: EffectiveUnit, changed: EffectiveUnit, path: str) -> int:
    """How many statements of a unit's file are new."""
    if path in unit.files:
        return 0
    return len(_statements(changed.content(path))) - len(_statements(unit.content(path)))
