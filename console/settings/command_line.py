"""The command line that starts the engine, through whatever starts it: shells, wrappers, containers."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from console.engines.base import Engine
from console.engines.recognise import engine_of
from console.errors import SettingElsewhereError
from console.settings.flags import Sought, occurrences
from console.settings.launch import Launch, read_launch
from console.settings.shell_words import Script
from console.settings.text import Origin, Text, Token, plain, unknown
from console.settings.unit_words import tokens_of
from console.units.commands import Command
from console.units.effective import EffectiveUnit
from console.units.shell import ShellCommand, ShellError, read_commands

Form = Literal["word", "shell-string", "wrapper"]

_SHELL_SCRIPT = re.compile(rb"#![^\n]*\b(ba|da|z|k|a|fi)?sh\b")
# Commands that only speak of an engine.
_SPEAKS = frozenset({"echo", "printf", "log", "logger", "cat", "grep", "pgrep", "pkill", "kill", "test", "[", "ls"})
_DEEPEST = 4


@dataclass(frozen=True)
class CommandLine:
    """The engine's own words, through all layers. `first`: index of the word its arguments follow.

    `paths` are the files that were read to find it, the innermost last; `end` is where a word can be added.
    `exports` are variables that a shell layer gives the engine.
    """

    tokens: tuple[Token, ...]
    first: int
    form: Form
    launch: Launch
    in_container: bool
    paths: tuple[str, ...]
    exports: tuple[tuple[str, Text], ...] = ()

    @property
    def texts(self) -> list[str]:
        return [token.text for token in self.tokens]

    @property
    def path(self) -> str:
        return self.paths[-1]


def command_line(unit: EffectiveUnit, command: Command, engine: Engine | None, what: Sought | None) -> CommandLine:
    """The innermost command line. Raises SettingElsewhereError naming the layer that cannot be read for sure.

    Without an engine, a shell's command is only known by the name of what it starts.
    """
    return _descend(unit, tokens_of(unit, command), engine, what, "word", (command.path,), ())


def scripts_of(unit: EffectiveUnit) -> frozenset[str]:
    """The files we have that are shell scripts; not every #! is one: a Python environment's programs begin so, too."""
    return frozenset(path for path, content in unit.files.items() if _SHELL_SCRIPT.match(content))


def absolute(unit: EffectiveUnit, path: str) -> str:
    """A path as the service sees it."""
    if path.startswith("/"):
        return posixpath.normpath(path)
    folder = unit.working_directory or (unit.last("Service", "WorkingDirectory") or "").lstrip("-")
    return posixpath.normpath(posixpath.join(folder, path)) if folder.startswith("/") else path


def _descend(
    unit: EffectiveUnit,
    tokens: Sequence[Token],
    engine: Engine | None,
    what: Sought | None,
    form: Form,
    paths: tuple[str, ...],
    exports: tuple[tuple[str, Text], ...],
    *,
    in_container: bool = False,
) -> CommandLine:
    texts = [token.text for token in tokens]
    scripts = set(scripts_of(unit))
    scripts |= {text for text in texts if absolute(unit, text) in scripts}
    launch = read_launch(texts, frozenset(scripts))
    contained = in_container or launch.contained
    if launch.kind in ("engine", "compose", "container-elsewhere") or len(paths) > _DEEPEST:
        return CommandLine(tuple(tokens), launch.first, form, launch, contained, paths, exports)
    token = tokens[launch.place]
    where = unit.where(token.path, token.start)
    if launch.kind == "shell-string":
        name = "a shell's command line"
        return _shell(unit, tokens, launch, token.value, name, where, engine, what, form, paths, exports)
    path = absolute(unit, token.text)
    if path not in unit.files or contained:
        inside = " inside a container" if contained else ""
        raise SettingElsewhereError(
            f"ExecStart runs the script {token.text}{inside}, which starts the engine, and which was not read",
            where=path,
        )
    content = unit.files[path]
    source = plain(content, path, ((index, index + 1) for index in range(len(content))))
    return _shell(
        unit, tokens, launch, source, f"the script {path}", path, engine, what, "wrapper", (*paths, path), exports
    )


def _shell(
    unit: EffectiveUnit,
    tokens: Sequence[Token],
    launch: Launch,
    source: Text,
    name: str,
    where: str,
    engine: Engine | None,
    what: Sought | None,
    form: Form,
    paths: tuple[str, ...],
    outer: tuple[tuple[str, Text], ...] = (),
) -> CommandLine:
    """The one command of a shell text that starts the engine."""
    try:
        commands = read_commands(source.octets)
    except ShellError as error:
        origin = source.origins[min(error.offset, len(source.origins) - 1)] if source.origins else None
        place = unit.where(origin.path, origin.start) if isinstance(origin, Origin) else where
        raise SettingElsewhereError(f"{name} cannot be read for sure: {error}", where=place) from None
    after = launch.place + 1 if form == "wrapper" else launch.place + 2  # the word after a shell's string is its $0
    script = Script(unit, source, commands, name, paths[-1], tokens[after:], inherits=not launch.contained)
    inner: Form = "wrapper" if form == "wrapper" else "shell-string"
    index = _starting(script, engine, what, where)
    words = _without_exec(script.words(index))
    exports = (*outer, *_exports(script, commands, index))
    return _descend(unit, words, engine, what, inner, paths, exports, in_container=launch.contained)


def _without_exec(words: list[Token]) -> list[Token]:
    while words and words[0].text in ("exec", "command", "builtin"):
        words = words[1:]
        if words and words[0].text == "-a":
            words = words[2:]
    return words


def _starting(script: Script, engine: Engine | None, what: Sought | None, where: str) -> int:
    """The index of the command that starts the engine: by its name, else by the options it is given."""
    named: list[int] = []
    likely: list[int] = []
    for index, command in enumerate(script.commands):
        words = [token.text for token in _without_exec(script.words(index))]
        if not words or command.name in _SPEAKS:
            continue
        launch = read_launch(words, frozenset())
        if launch.kind == "shell-string":
            if re.search(r"vllm|sglang|llama|ollama|launch_server", words[launch.place]):
                named.append(index)
            continue
        program = words[launch.first :] if not launch.contained else words[launch.first + 1 :]
        if engine_of(words[launch.first :]) is not None or (launch.contained and engine_of(program) is not None):
            named.append(index)
        elif launch.contained or _takes_options(words, engine, what):
            likely.append(index)
    found = named or likely
    if not found:
        ran = _runs_another(script)
        more = f"; it runs {ran}" if ran else ""
        raise SettingElsewhereError(f"no command of {script.name} is seen to start the engine{more}", where=where)
    if len(found) > 1:
        lines = ", ".join(script.where(script.commands[index].start) for index in found)
        raise SettingElsewhereError(
            f"{script.name} starts the engine in {len(found)} places, so which of them is meant is a guess",
            where=lines,
        )
    return found[0]


def _takes_options(words: Sequence[str], engine: Engine | None, what: Sought | None) -> bool:
    if engine is None or what is None:
        return False
    if occurrences(words, engine, what, 0):
        return True
    known = {full for word in words[1:] if word.startswith("-") and (full := engine.resolve_flag(word))}
    return len(known & {flag for each in engine.spellings.values() for flag in each.flags}) >= 2


def _runs_another(script: Script) -> str:
    for command in script.commands:
        if re.search(r"\.(sh|bash)\Z", command.name):
            return command.name
    return ""


def _exports(script: Script, commands: Sequence[ShellCommand], index: int) -> list[tuple[str, Text]]:
    """What the shell gives the engine beside its environment: `export A=1` before, `A=1` in front of the command."""
    found: list[tuple[str, Text]] = []
    if script.reads_others:
        found.append(("", unknown(f"what {script.reads_others} may set", script.reads_others)))
    for at, command in enumerate(commands[: index + 1]):
        where = script.where(command.start)
        if command.name == "unset":
            found += [(word.text, unknown("unset by the script", where)) for word in command.words[1:]]
        if command.name in ("readonly", "local", "typeset", "read"):
            found += [(word.text.partition("=")[0], unknown("set by the script", where)) for word in command.words[1:]]
        if at != index and command.words and command.name not in ("export", "declare", "readonly"):
            continue  # for that command alone
        for each in command.assignments:
            value = each.value.parts if each.value is not None else ()
            exported = at == index or command.name in ("export", "declare")
            sometimes = command.depth if at == index else script.sometimes(at)
            if not exported or sometimes or len(value) != 1 or value[0].kind != "text":
                found.append((each.name, unknown(f"${each.name}, which the script sets", where)))
                continue
            part = value[0]
            origins = tuple(script.source.origins[start] for start, _ in part.spans)
            found.append((each.name, Text(part.octets, origins)))
    return found
