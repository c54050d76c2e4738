"""One edit of a unit: the bytes of one value, wherever it stands, and the proof that nothing else changes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from console.engines.base import Engine
from console.errors import RefusedError, SettingElsewhereError, SettingNotFoundError, UnexpectedValueError
from console.schema.splice import Splice, apply, compose
from console.settings.drop_in import Cover, cover
from console.settings.elsewhere import refuse_file
from console.settings.flags import Sought, sought
from console.settings.locate import locate
from console.settings.proof import changes_only
from console.settings.sanity import check_form, check_not_secret, check_sense, check_value
from console.settings.sites import Absent, Form, Found, reloads
from console.settings.text import Origin
from console.settings.variables import definition
from console.units.effective import EffectiveUnit


@dataclass(frozen=True)
class Edit:
    """What to change in one file. `already`: the value is as wanted, so there are no splices.

    `before` is None where the setting was absent. The argv lists hold the engine's own words, through shells and
    wrappers. `needs_reload`: systemd has to read its files again for it. `notes` are sentences for the person who reads
    the plan. `makes`: the file is not there yet, and its first bytes are the splices'.
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
    form: Form = "word"
    makes: bool = False

    @property
    def needs_reload(self) -> bool:
        return reloads(self.form)


def plan_edit(
    unit: EffectiveUnit,
    engine: Engine,
    *,
    setting: str | None = None,
    flag: str | None = None,
    to: str | int | float | bool,
    expect: str | int | float | bool | None = None,
    when_absent: Literal["error", "add"] = "error",
    edit_source: bool = False,
    own_file: bool = False,
) -> Edit:
    """The edit that gives a setting (or a flag, verbatim) the value `to`.

    A value that means the same already is left alone, whatever `expect` says. `edit_source`: where a unit is generated
    from a quadlet, that file is edited. `own_file`: where the file that decides is a package's or also decides other
    units, a drop-in of this unit alone is made, or edited. Raises RefusedError for a value that is not one plain word,
    SettingNotFoundError, SettingElsewhereError, UnexpectedValueError.
    """
    try:
        what = sought(engine, setting=setting, flag=flag)
    except RefusedError as error:
        error.where = error.where or (unit.sources[0].path if unit.sources else unit.name)
        raise
    for name in {what.name, *what.flags}:
        check_not_secret(name)
    after = as_text(to)
    check_value(what.name, after)
    check_sense(what.name, after, engine)
    wanted = None if expect is None else as_text(expect)
    covered = cover(unit, engine, what) if own_file else Cover(unit)
    place = locate(covered.unit, engine, what, edit_source=edit_source)
    return _in_own(covered, _edit(covered.unit, engine, what, place, after, wanted, when_absent, covered.path))


def _in_own(covered: Cover, edit: Edit) -> Edit:
    """The edit of the drop-in as it is on disk: all of it is new, or what repeats the line that decided."""
    if not covered.path:
        return edit
    if edit.already:
        return replace(edit, path=covered.decided_in, line=covered.line)
    before = covered.before or b""
    added = Splice(start=len(before), old=b"", new=covered.text[len(before) :])
    verb = "a new file" if covered.before is None else "a drop-in of this unit alone"
    return replace(
        edit,
        splices=compose(before, (added,), edit.splices),
        makes=covered.before is None,
        notes=(*edit.notes, f"{verb}, as {covered.decided_in} {covered.why}"),
    )


def _edit(
    unit: EffectiveUnit,
    engine: Engine,
    what: Sought,
    place: Found | Absent,
    after: str,
    wanted: str | None,
    when_absent: Literal["error", "add"],
    home: str,
) -> Edit:
    if what.kind == "flag":
        return _switch(unit, what, place, after, when_absent)
    if what.setting is not None:
        try:
            engine.parse_value(what.setting, after)
        except ValueError as error:
            raise RefusedError(f"{what.name}: {engine.name} cannot read {after!r}: {error}") from error
    if isinstance(place, Found):
        return _replaced(unit, engine, what, place, after, wanted)
    if when_absent == "error":
        raise _not_found(unit, what, place)
    if wanted is not None:
        raise UnexpectedValueError(f"{what.name} is absent, expected {wanted}", where=f"{place.path}:{place.line}")
    if place.variable:
        return _variable_added(unit, what, place, after, home)
    return _added(unit, what, place, [what.flags[0], after], after)


def as_text(value: str | int | float | bool) -> str:
    """A value of a runbook as a word: `True` is `true`, numbers in their shortest form."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _not_found(unit: EffectiveUnit, what: Sought, place: Absent) -> SettingNotFoundError:
    near = f"; it has {', '.join(place.nearest)}" if place.nearest else ""
    comments = "".join(f"; {note}" for note in place.notes if "comment" in note and "stands in" in note)
    spelled = what.name if what.name == what.shown else f"{what.name} ({what.shown})"
    there = f"ExecStart of {unit.name}" if place.form == "word" else place.path
    taken = f", where ${place.variable} would be taken from the environment" if place.variable and what.flags else ""
    return SettingNotFoundError(
        f"{spelled} is not in {there}{taken}{near}{comments}",
        where=f"{place.path}:{place.line}",
        hint='when_absent = "add" appends it',
    )


def _replaced(unit: EffectiveUnit, engine: Engine, what: Sought, place: Found, after: str, expect: str | None) -> Edit:
    where = f"{place.path}:{place.line}"
    before = place.value
    if before is None or (not place.joined and before.startswith("--")):
        raise RefusedError(f"{what.shown} has no value", where=where)
    argv = place.reading(unit)
    if before and what.same(engine, before, after):
        return Edit(
            place.path, place.line, what.name, before, after, (), argv, argv, True, place.notes, form=place.form
        )
    if expect is not None and not what.same(engine, before, expect):
        raise UnexpectedValueError(f"{what.name} is {before or 'empty'}, expected {expect}", where=where)
    argv_after = list(argv)
    if place.index < len(argv_after):
        argv_after[place.index] = place.joined + after
    else:  # an empty variable as a whole word leaves no word at all
        argv_after.append(place.joined + after)
    content = unit.content(place.path)
    check_form(what.name, after, place.form)
    for span in place.spans:
        splice = Splice(start=span.start, old=content[span.start : span.end], new=after.encode())
        if changes_only(unit, place.path, (splice,), place.reading, tuple(argv_after)):
            return Edit(
                place.path,
                place.line,
                what.name,
                before,
                after,
                (splice,),
                argv,
                tuple(argv_after),
                False,
                place.notes,
                form=place.form,
            )
    raise RefusedError(
        f"the value of {what.shown} cannot be replaced without touching more than it",
        where=where,
    )


def _switch(
    unit: EffectiveUnit, what: Sought, place: Found | Absent, after: str, when_absent: Literal["error", "add"]
) -> Edit:
    """A flag without a value: it stands there or not; it can be added, not taken away."""
    if after not in ("true", "false"):
        raise RefusedError(f"{what.name} is true or false, not {after}")
    argv = place.reading(unit)
    if isinstance(place, Found):
        if after == "false":
            raise RefusedError(
                f"{what.shown} is on; taking a flag away is not an edit of a value",
                where=f"{place.path}:{place.line}",
                hint="remove it by hand",
            )
        return Edit(
            place.path, place.line, what.name, "true", after, (), argv, argv, True, place.notes, form=place.form
        )
    if after == "false":
        return Edit(place.path, place.line, what.name, None, after, (), argv, argv, already=True, form=place.form)
    if when_absent == "error":
        raise _not_found(unit, what, place)
    return _added(unit, what, place, [what.flags[0]], after)


def _added(unit: EffectiveUnit, what: Sought, place: Absent, words: list[str], after: str) -> Edit:
    """The words after the last of the command's own, on a line of their own where the command is written so."""
    if place.anchor is None:
        raise RefusedError(f"{words[0]} has no place where it could be added", where=f"{place.path}:{place.line}")
    if len(words) == 2 and place.joins:
        words = ["=".join(words)]
    content = unit.content(place.path)
    check_form(what.name, after, place.form)
    new = _separator(unit, place, place.anchor)
    splice = Splice(start=place.anchor.end, old=b"", new=new + " ".join(words).encode())
    argv = place.reading(unit)
    index = place.anchor_index
    argv_after = (*argv[: index + 1], *words, *argv[index + 1 :])
    if not changes_only(unit, place.path, (splice,), place.reading, argv_after):
        where = unit.where(place.path, place.anchor.start)
        raise RefusedError(f"{words[0]} cannot be added there without touching more", where=where)
    after_unit = unit.with_content(place.path, apply(content, [splice]))
    line = after_unit.line(place.path, place.anchor.end + len(new))
    return Edit(
        place.path,
        line,
        what.name,
        None,
        after,
        (splice,),
        argv,
        argv_after,
        False,
        place.notes,
        form=place.form,
    )


def _separator(unit: EffectiveUnit, place: Absent, anchor: Origin) -> bytes:
    """A blank, or the continuation the lines of the command are written with."""
    content = unit.content(place.path)
    line_start = max(content.rfind(b"\n", 0, anchor.start), content.rfind(b"\r", 0, anchor.start)) + 1
    if unit.line(place.path, anchor.start) <= place.first_line or line_start == 0:
        return b" "
    before = re.search(rb"\\(\r?\n|\r)\Z", content[:line_start])
    if before is None:
        return b" "
    indent = re.match(rb"[ \t]*", content[line_start:])
    return b" \\" + before[1] + (indent[0] if indent is not None else b"")


def _variable_added(unit: EffectiveUnit, what: Sought, place: Absent, after: str, home: str) -> Edit:
    """A line `Environment=NAME=value` beside the unit's others, written as the last of them is; or in `home`."""
    name = place.variable
    lines = [each for each in unit.assignments("Service", "Environment") if not home or each.path == home]
    source = unit.source(lines[-1].path) if lines else unit.source(home) if home else unit.sources[0]
    refuse_file(unit, source.path)
    if source.path in unit.covered and source.path != home:
        raise SettingElsewhereError(
            f"{name} would be set in {source.path}, which is not this unit's own to edit",
            where=f"{place.path}:{place.first_line}",
            hint=f"systemctl edit {unit.name}, and in it [Service] Environment={name}={after}",
        )
    text = source.text
    if lines:
        last = text.lines[lines[-1].statement.last_line - 1]
        quoted = '"' in lines[-1].statement.text
    else:
        header = next(each for each in text.statements if each.kind == "section" and each.section == "Service")
        last, quoted = text.lines[header.last_line - 1], False
    ending = last.ending or b"\n"
    word = f'"{name}={after}"' if quoted else f"{name}={after}"
    at = last.start + len(last.content) + len(last.ending)
    new = (b"" if last.ending else ending) + f"Environment={word}".encode() + (ending if last.ending else b"")
    splice = Splice(start=at, old=b"", new=new)
    argv = place.reading(unit)

    def read(changed: EffectiveUnit) -> tuple[str, ...]:
        return (f"{name}={definition(changed, name).text}",)

    if not changes_only(unit, source.path, (splice,), read, (f"{name}={after}",), added_lines=1):
        raise RefusedError(f"{name} cannot be added to the unit without touching more", where=source.path)
    line = last.number + 1
    return Edit(
        source.path, line, what.name, None, after, (splice,), argv, argv, False, place.notes, form="environment"
    )
