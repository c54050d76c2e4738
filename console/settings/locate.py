"""Where a setting lives: the file and the bytes that decide it, whatever starts the engine; or a refusal that says why.

Two candidates, a value that only the host could compute, a generated file: said, never guessed.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import pairwise

from console.engines.base import Engine
from console.errors import RefusedError, SettingElsewhereError
from console.settings import elsewhere, option_sites
from console.settings.command_line import CommandLine, command_line
from console.settings.flags import Occurrence, Sought, occurrences
from console.settings.sites import Absent, Form, Found, Reading
from console.settings.text import Origin, Text
from console.settings.variables import commented_out, definition
from console.units.commands import Command
from console.units.effective import EffectiveUnit
from console.units.notices import notices


def locate(unit: EffectiveUnit, engine: Engine, what: Sought, *, edit_source: bool = False) -> Found | Absent:
    """Where the setting stands. `edit_source`: a quadlet's source may be edited in the place of the generated unit.

    Raises SettingElsewhereError where it lives, or may live, in a place we do not edit, and RefusedError where
    systemd would not start this unit.
    """
    quadlet = elsewhere.quadlet_of(unit)
    if quadlet is not None:
        if not edit_source:
            elsewhere.refuse_file(unit, unit.sources[0].path)
        return option_sites.in_quadlet(unit, quadlet, engine, what)
    command = only_command(unit)
    elsewhere.refuse_file(unit, command.path)
    line = command_line(unit, command, engine, what)
    elsewhere.refuse_other_engine(unit, command, line, engine)
    if line.launch.kind == "compose":
        return option_sites.in_compose(unit, command, line, engine, what)
    if line.launch.kind == "container-elsewhere":
        elsewhere.refuse_container(unit, command)
    found = occurrences(line.texts, engine, what, max(line.first, line.launch.image)) if what.flags else ()
    if found:
        return _found(unit, command, line, engine, what, found)
    elsewhere.refuse_lost(unit, engine, what)
    elsewhere.refuse_doubtful(unit, line, engine, what)
    if what.flags and (in_file := option_sites.in_option_file(unit, command, line, engine, what)) is not None:
        return in_file
    in_environment = _in_environment(unit, command, line, engine, what)
    if in_environment is not None:
        return in_environment
    elsewhere.refuse_strangers(unit, line, engine)
    return _absent(unit, command, line, engine, what)


def reading_of(engine: Engine, what: Sought) -> Reading:
    """The engine's words, read again."""

    def read(unit: EffectiveUnit) -> tuple[str, ...]:
        return tuple(command_line(unit, only_command(unit), engine, what).texts)

    return read


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
        if notice.is_fatal and not notice.is_apart:
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


def _found(
    unit: EffectiveUnit,
    command: Command,
    line: CommandLine,
    engine: Engine,
    what: Sought,
    found: Sequence[Occurrence],
) -> Found | Absent:
    last = found[-1]
    token = line.tokens[last.value_index]
    where = unit.where(token.path, token.start)
    value = token.value[last.skip :] if last.skip else token.value
    doubt = value.doubt
    if doubt is not None and doubt.default_of:
        return _absent(unit, command, line, engine, what, variable=doubt.default_of)
    if doubt is not None and last.value is not None:
        raise SettingElsewhereError(
            f"the value of {what.shown} is {doubt.reason}", where=doubt.where or where, hint=doubt.hint
        )
    notes = elsewhere.refuse_override(unit, line, last, engine, what)
    if len(found) > 1:
        notes += tuple(_overridden(unit, line, each, what, len(found)) for each in found[:-1])
    written = value.written
    if last.value == "" and written is None:
        raise SettingElsewhereError(
            f"the value of {what.shown} is a variable that is set in no file we can see", where=where
        )
    if last.value is not None and written is None:
        raise SettingElsewhereError(f"the value of {what.shown} is put together in several places", where=where)
    spans = [written] if written is not None else []
    if written is not None and token.path == written.path and token.start <= written.start < token.end:
        begin = token.value[last.skip - 1 : last.skip].written if last.skip else None
        spans.append(Origin(token.path, begin.end if begin else token.start, token.end))
    path = written.path if written is not None else token.path
    for elsewhere_path in {path, *line.paths[1:]}:
        elsewhere.refuse_file(unit, elsewhere_path)
    return Found(
        form=_form(unit, line, path, written.start if written is not None else -1),
        path=path,
        value=last.value,
        spans=tuple(spans),
        line=unit.line(path, written.start if written is not None else token.start),
        reading=reading_of(engine, what),
        index=last.value_index,
        joined=str(token.value[: last.skip]) if last.skip else "",
        notes=notes + _surprises(unit, command),
    )


def _form(unit: EffectiveUnit, line: CommandLine, path: str, at: int = -1) -> Form:
    if path in unit.files:
        return "wrapper" if path in line.paths else "environment-file"
    for each in unit.assignments("Service", "Environment"):
        if each.path == path and at in each.statement.value.offsets:
            return "environment"
    return line.form if line.form != "wrapper" else "environment"


def _overridden(unit: EffectiveUnit, line: CommandLine, each: Occurrence, what: Sought, count: int) -> str:
    token = line.tokens[each.index]
    return (
        f"{what.shown} stands {count} times; the last one counts, the one in "
        f"{unit.where(token.path, token.start)} ({each.value or 'no value'}) does not"
    )


def _in_environment(
    unit: EffectiveUnit, command: Command, line: CommandLine, engine: Engine, what: Sought
) -> Found | None:
    """The setting as a variable of the engine's own, where no flag gives it."""
    for name in what.environment:
        before = [token for token in line.tokens[: line.first] if token.text.startswith(f"{name}=")]
        if len(before) > 1:
            raise SettingElsewhereError(f"{name} is given {len(before)} times", where=line.path)
        for token in before:
            if token.value.doubt is None:
                return _variable(unit, command, engine, what, name, token.value[len(name) + 1 :], line)
        given = [text for exported, text in line.exports if exported == name]
        if len(given) > 1:
            raise SettingElsewhereError(f"{name} is set {len(given)} times", where=line.path)
        if given:
            return _variable(unit, command, engine, what, name, given[0], line)
        clouded = next((text.doubt for exported, text in line.exports if not exported and text.doubt), None)
        if clouded is not None:
            raise SettingElsewhereError(f"{name} may be {clouded.reason}", where=clouded.where)
        if line.in_container:
            continue
        words = line.texts[: line.first]
        if "env" in (word.rpartition("/")[2] for word in words) and {"-i", "-u", "-", "--ignore-environment"} & {
            *words
        }:
            raise SettingElsewhereError("env takes variables away before the engine starts", where=line.path)
        found = definition(unit, name)
        if found.unread:
            raise SettingElsewhereError(f"{what.name} may be set by {name} in {found.place}", where=found.where)
        if found.value is not None:
            return _variable(unit, command, engine, what, name, found.value, line)
    return None


def _variable(
    unit: EffectiveUnit, command: Command, engine: Engine, what: Sought, name: str, value: Text, line: CommandLine
) -> Found:
    written, doubt = value.written, value.doubt
    if doubt is not None or written is None:
        reason = doubt.reason if doubt is not None else "put together in several places"
        raise SettingElsewhereError(f"{what.name} is set by {name}, whose value is {reason}", where=line.path)
    elsewhere.refuse_file(unit, written.path)

    def read(changed: EffectiveUnit) -> tuple[str, ...]:
        again = command_line(changed, only_command(changed), engine, what)
        exported = dict(again.exports).get(name)
        text = exported if exported is not None else definition(changed, name).text
        return (f"{name}={text}", *again.texts)

    in_words = next((index for index, token in enumerate(line.tokens) if token.text.startswith(f"{name}=")), None)
    form: Form = "environment-file" if written.path in unit.files else "environment"
    if written.path in line.paths[1:]:
        form = "wrapper"
    if in_words is not None:
        form = _form(unit, line, written.path, written.start)
    return Found(
        form=form,
        path=written.path,
        value=str(value),
        spans=(written,),
        line=unit.line(written.path, written.start),
        reading=read,
        index=0 if in_words is None else in_words + 1,
        joined=f"{name}=",
        notes=_surprises(unit, command),
    )


def _absent(
    unit: EffectiveUnit,
    command: Command,
    line: CommandLine,
    engine: Engine,
    what: Sought,
    *,
    variable: str = "",
) -> Absent:
    """Where the flag would be added: after the last of the engine's words that stands in the innermost layer."""
    anchor, anchor_index = None, -1
    for index, token in enumerate(line.tokens):
        if index >= line.first and token.path == line.path and not _looks_like_comment(token.text):
            anchor, anchor_index = Origin(token.path, token.start, token.end), index
        elif _looks_like_comment(token.text):
            break
    if not what.flags and not variable:
        variable = what.environment[0] if what.environment else ""
    notes = _surprises(unit, command)
    notes += tuple(
        f"a {name} that is commented out stands in {place}"
        for name in (*what.environment, *((variable,) if variable else ()))
        for place in commented_out(unit, (name,))
    )
    notes += tuple(f"{what.shown} stands in a comment: {place}" for place in elsewhere.commented(unit, engine, what))
    first = line.tokens[line.first] if line.first < len(line.tokens) else None
    return Absent(
        form=_form(unit, line, line.path),
        path=line.path,
        line=unit.line(line.path, first.start) if first is not None and first.path == line.path else 1,
        reading=reading_of(engine, what),
        anchor=anchor,
        anchor_index=anchor_index,
        first_line=unit.line(line.path, first.start) if first is not None and first.path == line.path else 0,
        joins=_joins(line.texts[line.first :]),
        nearest=_nearest(line.texts, what),
        variable=variable,
        notes=notes,
    )


def _looks_like_comment(text: str) -> bool:
    """What ends a command for a reader, but not for systemd: a lone backslash, a # that begins a word."""
    return text == "\\" or text.startswith("#")


def _joins(texts: Sequence[str]) -> bool:
    """Whether the command writes its long flags as `--flag=value`."""
    joined = any(word.startswith("--") and "=" in word for word in texts)
    apart = any(
        word.startswith("--") and "=" not in word and not following.startswith("-")
        for word, following in pairwise(texts)
    )
    return joined and not apart


def _surprises(unit: EffectiveUnit, command: Command) -> tuple[str, ...]:
    """What a reader of the command's own lines would not expect."""
    last_line = unit.source(command.path).text.line_at(command.end) + 1
    return tuple(
        f"{each.where}: {each.message}"
        for each in notices(unit)
        if (each.is_fatal and each.is_apart)
        or (
            each.kind in ("ends-early", "inline-comment")
            and each.path == command.path
            and command.line <= each.line <= last_line
        )
    )


def _nearest(texts: Sequence[str], what: Sought) -> tuple[str, ...]:
    seen = list(dict.fromkeys(word.partition("=")[0] for word in texts if word.startswith("-")))
    near = [match for flag in what.flags for match in difflib.get_close_matches(flag, seen, n=3, cutoff=0.5)]
    return tuple(dict.fromkeys(near))
