"""The words of a shell's commands with what can be known of their expansions, and nothing computed.

A variable is known where the script assigns it once, outside every if, loop and function, before its use, and reads no
other file; or where it assigns it never and the unit's environment has it. Everything else keeps its doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from console.settings.text import Doubt, Origin, Text, Token, unknown
from console.settings.variables import definition
from console.units.effective import EffectiveUnit
from console.units.shell import Assignment, Part, ShellCommand, ShellWord

# Commands after which a variable may be anything.
_READS_OTHERS = frozenset({"source", ".", "eval"})
_SETS_NAMED = frozenset(
    {"read", "getopts", "mapfile", "readarray", "unset", "printf", "let", "local", "typeset", "declare", "readonly"}
)
_ASSIGNING = frozenset({"", "export", "declare", "readonly"})  # the assignments of others are for that command alone


@dataclass
class Script:
    """One script or shell string. `octets[i]` of it is written at `origins[i]`; `arguments` are what it is given."""

    unit: EffectiveUnit
    source: Text
    commands: Sequence[ShellCommand]
    name: str  # how it is called in messages
    path: str
    arguments: Sequence[Token] = ()
    inherits: bool = True  # whether the unit's environment reaches it

    def where(self, offset: int) -> str:
        """`file:line` of a byte of the script."""
        origin = self.source.origins[min(offset, len(self.source.origins) - 1)] if self.source.origins else None
        if not isinstance(origin, Origin):
            return self.path
        return self.unit.where(origin.path, origin.start)

    def origin(self, offset: int) -> Origin | None:
        at = self.source.origins[offset] if 0 <= offset < len(self.source.origins) else None
        return at if isinstance(at, Origin) else None

    @cached_property
    def reads_others(self) -> str:
        """`file:line` of a command that reads another file into this shell; "" where none does."""
        for command in self.commands:
            if command.name in _READS_OTHERS:
                return self.where(command.start)
        return ""

    def words(self, index: int) -> list[Token]:
        """The words of command `index`, expanded as far as that is known."""
        return [token for word in self.commands[index].words for token in self._expand(word, index)]

    def _expand(self, word: ShellWord, index: int) -> Iterator[Token]:
        first, last = self.origin(word.start), self.origin(word.end - 1)
        path = first.path if first else self.path
        start = first.start if first else 0
        end = last.end if last else start
        fields: list[Text] = []
        current: Text | None = None
        for part in word.parts:
            pieces = self._part(part, index)
            if pieces is None:
                continue
            for number, piece in enumerate(pieces):
                if number and current is not None:
                    fields.append(current)
                    current = None
                current = piece if current is None else current + piece
        if current is not None:
            fields.append(current)
        for text in fields:
            yield Token(text, path, start, end)

    def _part(self, part: Part, index: int) -> list[Text] | None:
        """The fields a part becomes; None where an unquoted expansion leaves nothing at all."""
        if part.kind == "text":
            # The bytes of a shell string may come out of a variable that systemd has put in.
            return [Text(part.octets, tuple(self.source.origins[start] for start, _ in part.spans))]
        if part.kind == "arguments":
            if any(each.name == "shift" or _sets_arguments(each) for each in self.commands[:index]):
                return [unknown("the arguments, which the script changes", self.where(self.commands[index].start))]
            return [token.value for token in self.arguments] or None
        if part.kind == "array":
            return self._array(part.name, index) or None
        if part.kind == "opaque":
            return [unknown("what only the shell can compute", self.where(self.commands[index].start))]
        value = self.value(part, index)
        if part.quoted:
            return [value]
        return list(value.fields()) or None

    def assigned(self, name: str) -> list[tuple[int, Assignment]]:
        return [
            (at, each) for at, command in enumerate(self.commands) for each in command.assignments if each.name == name
        ]

    def _array(self, name: str, index: int) -> list[Text]:
        found = self.assigned(name)
        base = [(at, each) for at, each in found if each.is_array and not each.appends]
        if len(base) != 1 or self.sometimes(base[0][0]) or base[0][0] >= index or self._set_otherwise(name):
            return [
                unknown(f"the array {name}, which is put together elsewhere", self.where(self.commands[index].start))
            ]
        texts: list[Text] = []
        for at, each in found:
            for item in each.items:
                given = [token.value for token in self._expand(item, at)]
                if self.sometimes(at):
                    reason = Doubt(
                        f"what the array {name} is given only sometimes", self.where(self.commands[at].start)
                    )
                    given = [Text(text.octets, (reason,) * len(text.octets)) for text in given]
                texts += given
        return texts

    def value(self, part: Part, index: int) -> Text:
        """What `$NAME` or `${NAME:-default}` is where command `index` runs."""
        found = self.assigned(part.name)
        where = self.where(self.commands[index].start)
        if self._set_otherwise(part.name):
            return unknown(f"${part.name}, which the script computes", where)
        if not found:
            if self.reads_others:
                return unknown(f"${part.name}, which {self.reads_others} may set", self.reads_others)
            return self._from_environment(part, where)
        if len(found) > 1:
            return unknown(f"${part.name}, which the script sets {len(found)} times", where)
        at, assignment = found[0]
        if self.sometimes(at) or at >= index or assignment.value is None or assignment.appends:
            return unknown(f"${part.name}, which the script sets only sometimes", where)
        if self.reads_others and any(command.name in _READS_OTHERS for command in self.commands[at + 1 : index]):
            return unknown(f"${part.name}, which {self.reads_others} may set", self.reads_others)
        texts = [
            self.value(inner, at) if inner.kind == "variable" and inner.name != part.name else self._own(inner, at)
            for inner in assignment.value.parts
        ]
        if len(texts) == 1:
            return texts[0]
        total = Text()
        for text in texts:
            total += text
        if not assignment.value.parts:
            place = self.origin(assignment.value.start - 1)
            return Text(empty=Origin(place.path, place.end, place.end) if place else None)
        return total

    def _own(self, part: Part, at: int) -> Text:
        """A part of an assignment: text, or the variable's own old value (`X="${X:-1}"`)."""
        if part.kind == "text":
            found = self._part(part, at)
            return found[0] if found else Text()
        if part.kind == "variable":
            if self.reads_others and any(command.name in _READS_OTHERS for command in self.commands[:at]):
                return unknown(f"${part.name}, which {self.reads_others} may set", self.reads_others)
            return self._from_environment(part, self.where(self.commands[at].start))
        return unknown("what only the shell can compute", self.where(self.commands[at].start))

    def _from_environment(self, part: Part, where: str) -> Text:
        if not self.inherits:
            return unknown(f"${part.name}, out of an environment that is not the unit's", where)
        found = definition(self.unit, part.name)
        if found.unread:
            return found.text
        if found.value is not None and (found.value.octets or part.default is None):
            return found.value
        if part.default is None:
            return Text()
        shown = part.default[0].decode("utf-8", "replace")
        reason = f"${{{part.name}:-{shown}}}, a default of the script for a variable that nothing sets"
        return unknown(reason, where, default_of=part.name)

    def sometimes(self, at: int) -> bool:
        """Whether command `at` may not run in this shell, or assigns for another command only."""
        command, before = self.commands[at], self.commands[at - 1].after if at else ""
        return bool(
            command.depth
            or before in ("&&", "||", "|", "|&")
            or command.after in ("|", "|&", "&")
            or command.name not in _ASSIGNING
            or (command.words and not command.name)
        )

    def _set_otherwise(self, name: str) -> bool:
        """Whether a command such as `read` or `local` names the variable, or gives one item of an array."""
        named = re.compile(rf"{re.escape(name)}(\Z|\[|[-+*/%&|^<>]*=|\+\+|--)")
        return any(
            (command.name in _SETS_NAMED and any(named.match(word.text) for word in command.words[1:]))
            or (command.words and command.words[0].text.startswith(f"{name}["))
            for command in self.commands
        )


def _sets_arguments(command: ShellCommand) -> bool:
    """`set -- …`, `set a b`; not `set -euo pipefail`."""
    words = [word.text for word in command.words[1:]]
    return command.name == "set" and any(
        word == "--" or (not word.startswith(("-", "+")) and not words[i - 1].endswith("o"))
        for i, word in enumerate(words)
    )
