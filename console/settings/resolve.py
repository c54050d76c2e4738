"""What systemd will really run: the command line on disk with variables and specifiers put in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

from console.errors import SettingElsewhereError
from console.schema.facts import Facts
from console.settings.command_line import command_line, scripts_of
from console.settings.launch import read_launch
from console.settings.option_sites import composed_words
from console.settings.specifiers import specifiers
from console.settings.variables import file_paths
from console.units.effective import EffectiveUnit, UnitSource
from console.units.environment import environment, environment_files, read_environment_file, unset

_BRACED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


_OTHER_KINDS = ("environment", "wrapper", "options", "source")


def unit_of(facts: Facts) -> EffectiveUnit:
    """The unit's text as systemd would read it now: fragment, then drop-ins in its order, and the other files read.

    That order holds for drop-ins it has not read yet, too: by file name, and of one name the first folder's.
    """
    by_path = {file.path: file for file in facts.files if not file.missing}
    ordered = [path for path in (facts.unit.fragment_path, *drop_ins(facts)) if path in by_path]
    others = {
        path: file.content
        for path, file in by_path.items()
        if file.kind in _OTHER_KINDS and path not in ordered and not file.error
    }
    unit = EffectiveUnit(
        name=facts.unit.id,
        sources=tuple(UnitSource(path, by_path[path].content) for path in ordered),
        source_path=facts.unit.source_path,
        files=others,
        missing=frozenset(file.path for file in facts.files if file.missing),
        working_directory=facts.unit.working_directory.lstrip("!-"),
        links={file.path: file.real_path for file in by_path.values() if file.real_path != file.path},
    )
    # systemd shows the environment files in its own order, specifiers put in.
    named = [each.name for each in environment_files(unit)]
    shown = [each.rpartition(" (ignore_errors=")[0] for each in facts.unit.environment_files]
    return replace(unit, resolved=dict(zip(named, shown, strict=True))) if len(named) == len(shown) else unit


# Where a drop-in of the same name wins, first to last (systemd.unit(5)).
_FOLDERS = ("/etc/", "/run/", "/usr/local/lib/", "/usr/lib/", "/lib/")


def drop_ins(facts: Facts) -> list[str]:
    """The drop-ins on disk in the order systemd reads them; what it lists already keeps its own order."""
    listed = [path for path in facts.unit.dropin_paths if _there(facts, path)]
    there = [file.path for file in facts.files if file.kind == "dropin" and not file.missing]
    fresh = [path for path in there if path not in listed]
    if not fresh:
        return listed
    by_name: dict[str, str] = {}
    for path in sorted([*listed, *fresh], key=_rank):
        by_name.setdefault(path.rpartition("/")[2], path)
    return [by_name[name] for name in sorted(by_name)]


def _there(facts: Facts, path: str) -> bool:
    return any(file.path == path and not file.missing for file in facts.files)


def _rank(path: str) -> int:
    return next((index for index, folder in enumerate(_FOLDERS) if path.startswith(folder)), len(_FOLDERS))


def environment_on_disk(unit: EffectiveUnit) -> dict[str, str]:
    """Environment= and the environment files, in systemd's order: files override (systemd.exec(5))."""
    variables = {variable.name: variable.value for variable in environment(unit)}
    for file in environment_files(unit):
        for path in file_paths(unit, file) or ():
            variables |= {each.name: each.value for each in read_environment_file(path, unit.files[path])}
    gone = unset(unit)
    return {name: value for name, value in variables.items() if not {name, f"{name}={value}"} & gone}


def argv_on_disk(unit: EffectiveUnit, variables: Mapping[str, str]) -> list[str] | None:
    """The words of the engine's command; None where there is none, several, or one we cannot resolve.

    They are those of the one command systemd would run, or, where that is a shell or a wrapper, of the command in it;
    of compose, those it gives the engine.
    `$NAME` as a whole word is split at blanks, `${NAME}` is not, `$$` is a dollar sign (systemd.service(5)); after the
    `:` prefix they are ordinary characters.
    """
    commands = unit.commands()
    if len(commands) != 1:
        return None
    words: list[str] = []
    for word in commands[0].words:
        specified = specifiers(word.text, unit.name)
        if specified is None:
            return None
        words.extend(_expand(specified, variables) if word.expands else [specified])
    kind = read_launch(words, scripts_of(unit)).kind
    if kind not in ("shell-string", "script", "compose"):
        return words
    try:
        inner = command_line(unit, commands[0], None, None)
    except SettingElsewhereError:
        return None
    if inner.launch.kind == "compose":
        return composed_words(unit, inner)
    if any(token.value.doubt is not None for token in inner.tokens):
        return None
    return inner.texts


def _expand(word: str, variables: Mapping[str, str]) -> list[str]:
    whole = re.fullmatch(r"\$([A-Za-z_][A-Za-z0-9_]*)", word)
    if whole:
        return _split(variables.get(whole[1], ""))
    if "$" not in word:
        return [word]
    return ["$".join(_BRACED.sub(lambda match: variables.get(match[1], ""), part) for part in word.split("$$"))]


def _split(value: str) -> list[str]:
    """The words of a variable. Quotes in it are taken off (systemd, replace_env_argv); a lone one ends with it."""
    for closing in ("", '"', "'"):
        try:
            return shlex.split(value + closing)
        except ValueError:
            continue
    return value.split()
