"""What systemd would do with a unit's files without a word to anybody: one sentence each, with file and line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from console.units.commands import Complaint, parse_exec
from console.units.effective import EXEC_KEYS, EffectiveUnit, UnitSource
from console.units.known_keys import KNOWN_KEYS
from console.units.text import STOPS, Statement
from console.units.words import Word

NoticeKind = Literal[
    "ends-early",
    "lost-line",
    "stops-reading",
    "unknown-section",
    "unknown-key",
    "inline-comment",
    "odd-word",
    "refused-command",
    "ignored-value",
    "not-loadable",
]


@dataclass(frozen=True)
class Notice:
    """Something the reader of the file would not expect. `is_fatal`: the unit does not load.

    `is_apart`: it says nothing of the command, which means what it means without it.
    """

    kind: NoticeKind
    path: str
    line: int
    message: str
    is_fatal: bool = False
    is_apart: bool = False

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}"


_CHOICES = {
    "Type": frozenset({"simple", "exec", "forking", "oneshot", "dbus", "notify", "notify-reload", "idle"}),
    "Restart": frozenset({"no", "on-success", "on-failure", "on-abnormal", "on-watchdog", "on-abort", "always"}),
}
_BLANK_AFTER_BACKSLASH = re.compile(rb"\\[ \t]+\Z")
# Text may hold a # in these.
_PROSE = frozenset({"Description", "Documentation", "SyslogIdentifier"})
_EXEC_PROBLEMS = {
    "unbalanced-quote": "a quote is never closed",
    "unknown-specifier": "%… names no specifier of systemd",
    "no-program": "there is no program",
    "bad-program": "the program is neither an absolute path nor a plain name",
}


def notices(unit: EffectiveUnit) -> tuple[Notice, ...]:
    """All of them, file by file in the order of the lines."""
    found: list[Notice] = []
    for index, source in enumerate(unit.sources):
        is_fragment = index == 0
        in_file = [
            *_lines(source, is_fragment=is_fragment),
            *_keys(source),
            *_exec(source, is_fragment=is_fragment),
            *_values(unit, source, is_fragment=is_fragment),
        ]
        if is_fragment and not source.content:
            message = "the file is empty: systemd takes the unit as masked"
            in_file.append(Notice("not-loadable", source.path, 1, message, is_fatal=True))
        found += sorted(in_file, key=lambda notice: notice.line)
    return (*found, *_commands(unit))


def _lines(source: UnitSource, *, is_fragment: bool) -> Iterator[Notice]:
    previous: Statement | None = None
    for each in source.text.statements:
        line = source.text.lines[each.last_line - 1].content
        if each.problem in STOPS:
            reason = "is not UTF-8" if each.problem == "not-utf8" else "is no section header"
            rest = "the unit does not load" if is_fragment else "the rest of this drop-in is ignored"
            yield Notice(
                "stops-reading", source.path, each.first_line, f"the line {reason}: {rest}", is_fatal=is_fragment
            )
        elif each.problem == "no-section":
            yield Notice("lost-line", source.path, each.first_line, "stands before the first section: ignored")
        elif _is_lost(each):
            if previous is not None and not _is_lost(previous) and previous.kind == "assignment":
                yield from _early_end(source, previous)
            text = source.text.lines[each.first_line - 1].content.decode("utf-8", "replace").strip()
            yield Notice("lost-line", source.path, each.first_line, f"no assignment, so systemd ignores it: {text}")
        elif _BLANK_AFTER_BACKSLASH.search(line):
            message = f"a blank after the backslash: {each.key}= ends here, what follows is no part of it"
            yield Notice("ends-early", source.path, each.last_line, message)
        previous = each


def _is_lost(statement: Statement) -> bool:
    return bool(statement.problem) or statement.key.startswith("-")


def _early_end(source: UnitSource, statement: Statement) -> Iterator[Notice]:
    """Why a statement before a lost line ended sooner than it looks."""
    line = source.text.lines[statement.last_line - 1]
    if _BLANK_AFTER_BACKSLASH.search(line.content):
        return  # told where it stands
    reason = "an empty line" if line.is_blank else "no backslash at the end"
    message = f"{reason}: {statement.key}= ends here, what follows is no part of it"
    yield Notice("ends-early", source.path, statement.last_line, message)


def _keys(source: UnitSource) -> Iterator[Notice]:
    for each in source.text.statements:
        if each.kind == "section" and each.section not in KNOWN_KEYS and not each.section.startswith("X-"):
            near = difflib.get_close_matches(each.section.capitalize(), KNOWN_KEYS, n=1)
            meant = f"; [{near[0]}] is meant, maybe" if near else ""
            yield Notice(
                "unknown-section",
                source.path,
                each.first_line,
                f"[{each.section}] is ignored with all its lines{meant}",
            )
        known = KNOWN_KEYS.get(each.section)
        if each.kind != "assignment" or known is None or each.key in known or each.key.startswith(("X-", "-")):
            continue
        homes = [section for section, keys in KNOWN_KEYS.items() if each.key in keys]
        near = [key for key in known if key.lower() == each.key.lower()]
        near += difflib.get_close_matches(each.key, known, n=1)
        meant = f": it belongs into [{homes[0]}]" if homes else f": {near[0]} is meant, maybe" if near else ""
        message = f"{each.key}= in [{each.section}] is ignored (systemd 252){meant}"
        yield Notice("unknown-key", source.path, each.first_line, message)


def _exec(source: UnitSource, *, is_fragment: bool) -> Iterator[Notice]:
    for each in source.text.statements:
        if each.kind != "assignment" or each.section != "Service" or each.key not in EXEC_KEYS:
            continue
        parsed = parse_exec(each.value)
        for complaint in parsed.complaints:
            yield _complaint(source, each, complaint, is_fragment=is_fragment)
        for command in parsed.commands:
            for word in command.words:
                message = _odd(word)
                if message:
                    yield Notice("odd-word", source.path, source.text.line_at(word.start), message)


def _complaint(source: UnitSource, statement: Statement, complaint: Complaint, *, is_fragment: bool) -> Notice:
    line = source.text.line_at(complaint.offset)
    if complaint.kind == "inline-comment":
        message = f"no comment can stand at the end of {statement.key}=: its words are arguments"
        return Notice("inline-comment", source.path, line, message)
    if complaint.kind == "unknown-escape":
        message = f"an escape that systemd does not know stays as it is: {complaint.text}"
        return Notice("odd-word", source.path, line, message)
    outcome = "the line is ignored"
    if complaint.fatal:
        outcome = "the unit does not load" if is_fragment else "the rest of this drop-in is ignored"
    problem = _EXEC_PROBLEMS[complaint.kind]
    return Notice(
        "refused-command",
        source.path,
        line,
        f"{statement.key}=: {problem}; {outcome}",
        is_fatal=complaint.fatal and is_fragment,
    )


def _odd(word: Word) -> str:
    text = word.text
    if text.startswith(("\u2013", "\u2014", "\u2212")):
        return f"{text} begins with a dash that is no hyphen, so it is no flag"
    if not word.expands:
        return ""
    if re.search(r"\$\{[^}]*:[-+=?]", text):
        return f"{text}: systemd knows no defaults in ${{…}}; this is a variable of that odd name, so nothing"
    plain = text.replace("$$", "")
    if not word.splits and re.search(r"\$[A-Za-z_]", plain):
        return f"{text}: $NAME inside a word is not replaced by systemd; ${{NAME}} is"
    return ""


def _values(unit: EffectiveUnit, source: UnitSource, *, is_fragment: bool) -> Iterator[Notice]:
    for each in source.text.statements:
        if each.kind != "assignment" or each.section != "Service" or each.key in EXEC_KEYS:
            continue
        line, key, value = each.first_line, each.key, each.text
        if key in ("User", "Group") and re.fullmatch(r"%[iI]", value) and "@" not in unit.name:
            message = f"{key}={value} is empty outside a template: the unit does not load"
            yield Notice("not-loadable", source.path, line, message, is_fatal=is_fragment, is_apart=True)
        if key == "WorkingDirectory" and value and not re.match(r"-?([/%]|~\Z)", value):
            fatal = is_fragment and not value.startswith("-")
            message = f"{key}={value} is no absolute path" + (": the unit does not load" if fatal else ": ignored")
            yield Notice("not-loadable" if fatal else "ignored-value", source.path, line, message, is_fatal=fatal)
        if key not in _PROSE and re.search(r"(^|\s)#", value):
            yield Notice("inline-comment", source.path, line, f"the # belongs to the value of {key}=")
        choices = _CHOICES.get(key)
        if choices and value and value not in choices and "#" not in value:
            yield Notice("ignored-value", source.path, line, f"{key}={value} is none of its values: ignored")
        if key == "EnvironmentFile" and value and not re.match(r"-?[/%]", value):
            yield Notice("ignored-value", source.path, line, f"{key}={value} is no absolute path: ignored")


def _commands(unit: EffectiveUnit) -> Iterator[Notice]:
    commands = unit.commands()
    fragment = unit.sources[0] if unit.sources else None
    if len(commands) > 1 and unit.service_type != "oneshot":
        message = (
            f"{len(commands)} commands in ExecStart= with Type={unit.service_type}: the unit does not load; "
            "a drop-in needs an empty ExecStart= before its own"
        )
        yield Notice("not-loadable", commands[-1].path, commands[-1].line, message, is_fatal=True)
    stopped = fragment is None or fragment.bad_exec is not None or fragment.text.stopped_at is not None
    if fragment is not None and fragment.content and not stopped and not commands and not unit.commands("ExecStop"):
        message = "no ExecStart= takes effect: the unit does not load"
        yield Notice("not-loadable", fragment.path, 1, message, is_fatal=True)
