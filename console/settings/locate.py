"""Where a setting stands in a unit: the words of ExecStart we edit, or the place that a refusal names."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from console.engines.base import Engine
from console.errors import RefusedError, SettingElsewhereError
from console.settings import elsewhere
from console.settings.flags import Occurrence, Sought, occurrences
from console.settings.launch import Launch, read_launch
from console.units.commands import Command
from console.units.effective import EffectiveUnit
from console.units.notices import notices

# Not every #! is a wrapper: the programs of a Python environment begin with one too.
_SHELL_SCRIPT = re.compile(rb"#![^\n]*\b(ba|da|z|k|a|fi)?sh\b")


@dataclass(frozen=True)
class Found:
    """The occurrence that takes effect (the last), the ones it overrides, and what a person should know."""

    command: Command
    launch: Launch
    occurrence: Occurrence
    earlier: tuple[Occurrence, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Absent:
    """Nowhere in what decides the unit; `nearest` are flags of the command that look alike."""

    command: Command
    launch: Launch
    nearest: tuple[str, ...]
    notes: tuple[str, ...] = ()


def locate(unit: EffectiveUnit, engine: Engine, what: Sought) -> Found | Absent:
    """Where the setting stands in the ExecStart that takes effect.

    Raises SettingElsewhereError where it lives, or may live, in a place we do not edit, and RefusedError where
    systemd would not start this unit.
    """
    command = only_command(unit)
    scripts = frozenset(path for path, content in unit.files.items() if _SHELL_SCRIPT.match(content))
    launch = read_launch(command.argv, scripts)
    found = occurrences(command.argv, engine, what, max(launch.first, launch.place))
    elsewhere.refuse_file(unit, command.path)
    if not found:
        elsewhere.refuse_lost(unit, engine, what)
        elsewhere.refuse_variables(unit, command, launch.first, engine, what)
        elsewhere.refuse_launch(unit, command, launch, engine, what)
        elsewhere.refuse_config(unit, command, launch.first, what)
        elsewhere.refuse_environment(unit, command, what)
        return Absent(command, launch, _nearest(command, what), _surprises(unit, command))
    last = found[-1]
    elsewhere.refuse_value(unit, command, last, what)
    notes = elsewhere.refuse_override(unit, command, last, engine, what)
    notes += tuple(
        f"{what.flags[0]} stands {len(found)} times; the last one counts, the one in "
        f"{unit.where(command.path, command.words[each.index].start)} ({each.value or 'no value'}) does not"
        for each in found[:-1]
    )
    return Found(command, launch, last, found[:-1], notes + _surprises(unit, command))


def only_command(unit: EffectiveUnit) -> Command:
    """The one command that ExecStart= runs.

    Raises SettingElsewhereError for several, RefusedError where there is none or systemd refuses the unit.
    """
    fragment = unit.sources[0] if unit.sources else None
    if fragment is None:
        raise RefusedError(f"{unit.name} has no unit file")
    commands = unit.commands()
    if not commands:
        elsewhere.refuse_file(unit, fragment.path)
    for notice in notices(unit):
        if notice.is_fatal:
            hint = f"repair it first; systemd-analyze verify {fragment.path}"
            raise RefusedError(notice.message, where=notice.where, hint=hint)
    if not commands:
        raise RefusedError("no ExecStart= takes effect", where=fragment.path, hint=f"systemctl cat {unit.name}")
    if len(commands) > 1:
        places = ", ".join(dict.fromkeys(f"{each.path}:{each.line}" for each in commands))
        raise SettingElsewhereError(
            f"ExecStart= runs {len(commands)} commands one after another, so which of them is meant is a guess",
            where=places,
        )
    return commands[0]


def _surprises(unit: EffectiveUnit, command: Command) -> tuple[str, ...]:
    """What a reader of the command's own lines would not expect."""
    last_line = unit.source(command.path).text.line_at(command.end) + 1
    return tuple(
        f"{each.where}: {each.message}"
        for each in notices(unit)
        if each.kind in ("ends-early", "inline-comment")
        and each.path == command.path
        and command.line <= each.line <= last_line
    )


def _nearest(command: Command, what: Sought) -> tuple[str, ...]:
    seen = list(dict.fromkeys(word.partition("=")[0] for word in command.argv if word.startswith("-")))
    near = [match for flag in what.flags for match in difflib.get_close_matches(flag, seen, n=3, cutoff=0.5)]
    return tuple(dict.fromkeys(near))
