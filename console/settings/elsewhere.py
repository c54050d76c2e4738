"""The places we do not edit, each refused by name: file and line where it can."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.engines.base import Engine
from console.engines.recognise import engine_of, engine_of_image
from console.errors import SettingElsewhereError
from console.settings.command_line import CommandLine
from console.settings.flags import Occurrence, Sought, occurrences
from console.settings.text import Doubt, Token
from console.units.commands import Command
from console.units.effective import EffectiveUnit

_GENERATED = re.compile(
    r"/run/systemd/(generator(\.early|\.late)?|transient)/|/nix/store/|\.(container|kube|pod|image)\Z"
)
_PACKAGED = re.compile(r"/(usr/)?lib/systemd/")
# Where only packages write: a link out of /etc may lead to any place there.
_PACKAGED_TARGET = re.compile(r"/usr/(?!local/)|/lib(32|64)?/|/gnu/store/|/snap/")
_HOLDS_OPTIONS = re.compile(r"(?i)args?$|opts?$|options?$|flags?$|extra|params?$")


def is_packaged(path: str, real_path: str = "") -> bool:
    """Whether a package writes a unit's file, or the one that it is a link to."""
    return bool(_PACKAGED.match(path) or (real_path and _PACKAGED_TARGET.match(real_path)))


def refuse_file(unit: EffectiveUnit, path: str) -> None:
    """Raises for a file that something else writes: a generator, a package, a store."""
    fragment = unit.sources[0].path
    if unit.source_path and path == fragment and unit.source_path != path:
        is_quadlet = unit.source_path.endswith(".container")
        hint = 'when_generated = "source" edits that file' if is_quadlet else ""
        raise SettingElsewhereError(f"{path} is generated from {unit.source_path}", where=unit.source_path, hint=hint)
    if _GENERATED.search(path):
        raise SettingElsewhereError(
            f"{path} is not a file to edit: it is generated, or the source of a generator", where=path
        )
    if path == fragment and any("LOCALE_ARCHIVE=" in each.value for each in unit.assignments("Service", "Environment")):
        raise SettingElsewhereError(
            f"{path} is written by NixOS, which sets LOCALE_ARCHIVE in every unit it makes",
            where=path,
            hint="change the option in configuration.nix and rebuild",
        )
    if is_packaged(path) and path not in unit.covered:
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
                    f"{what.shown} stands there, but systemd drops the line: {reason}",
                    where=f"{source.path}:{line.number}",
                    hint="repair the file by hand: no blank after a backslash, no empty line inside a command",
                )


def _split(content: bytes) -> list[str]:
    return content.decode("utf-8", "replace").rstrip("\\ \t").split()


def quadlet_of(unit: EffectiveUnit) -> str | None:
    """The quadlet that the unit is made from, where we have it."""
    for path in (unit.source_path, unit.sources[0].path if unit.sources else ""):
        if path.endswith(".container"):
            return path
    return None


def refuse_other_engine(unit: EffectiveUnit, command: Command, line: CommandLine, engine: Engine) -> None:
    """Raises where the command starts another engine than the inventory says; nothing told is no reason."""
    texts = line.texts
    program = texts[line.launch.image + 1 :] if line.launch.contained and line.first == line.launch.image else None
    seen = engine_of(texts[line.first :] if program is None else program)
    if seen is None and line.launch.contained:
        seen = engine_of_image(texts[line.launch.image])
    if seen is None or seen == engine.name:
        return
    token = line.tokens[line.first]
    raise SettingElsewhereError(
        f"the command starts {seen}, not {engine.name}",
        where=unit.where(token.path, token.start),
        hint=f'engine = "{seen}" in hosts.toml, if that is what it is',
    )


def refuse_container(unit: EffectiveUnit, command: Command) -> None:
    """Raises for `docker start` and the like."""
    raise SettingElsewhereError(
        "ExecStart starts a container that was made elsewhere, with its options in it",
        where=f"{command.path}:{command.line}",
        hint="docker inspect says what it was made with; make it again with the new option",
    )


def refuse_doubtful(unit: EffectiveUnit, line: CommandLine, engine: Engine, what: Sought) -> None:
    """Raises where a word that nobody can read for sure stands where options stand: it may hold the setting."""
    for token, doubt in _doubtful(line, engine, line.first):
        raise SettingElsewhereError(
            f"{what.shown} may come out of {doubt.reason}",
            where=doubt.where or unit.where(token.path, token.start),
        )


def refuse_override(
    unit: EffectiveUnit, line: CommandLine, last: Occurrence, engine: Engine, what: Sought
) -> tuple[str, ...]:
    """Notes where a word after the flag could give it again and so win, and nobody can see whether it does."""
    return tuple(
        f"{doubt.reason}, stands after {what.shown} and could override it"
        for _, doubt in _doubtful(line, engine, last.value_index)
    )


def _doubtful(line: CommandLine, engine: Engine, after: int) -> Iterator[tuple[Token, Doubt]]:
    texts = line.texts
    for index in range(after + 1, len(line.tokens)):
        token = line.tokens[index]
        doubt = token.value.doubt
        if doubt is None or doubt.default_of or len(token.value.octets) > 1:
            continue
        before = texts[index - 1]
        name = re.search(r"\$\{?(\w+)", doubt.reason)
        holds_options = bool(name and _HOLDS_OPTIONS.search(name[1]))
        if not before.startswith("-") or "=" in before or holds_options or _takes_nothing(before, engine):
            yield token, doubt


def _takes_nothing(word: str, engine: Engine) -> bool:
    full = engine.resolve_flag(word)
    return any(full in each.flags and each.kind == "flag" for each in engine.spellings.values())


def refuse_strangers(unit: EffectiveUnit, line: CommandLine, engine: Engine) -> None:
    """Raises before a flag is added to a program that is not the engine, though it is called so."""
    texts = line.texts[line.first :]
    token = line.tokens[line.first]
    where = unit.where(token.path, token.start)
    if engine.name == "llamacpp":
        if len(texts) > 1 and not texts[1].startswith("-") and not line.launch.contained:
            raise SettingElsewhereError(
                f"{texts[0]} is given {texts[1]!r}, which the engine takes for no option: it is a script of its own",
                where=where,
            )
        router = next((text for text in texts if text in ("--models-dir", "--models-preset", "--router")), None)
        if router is not None:
            message = f"with {router} it serves several models, each with options of its own"
            raise SettingElsewhereError(message, where=where)
    if line.launch.contained or engine_of(texts) is not None or _has_options(texts, engine):
        return
    raise SettingElsewhereError(f"{texts[0]} is not seen to be {engine.name}", where=where)


def _has_options(texts: list[str], engine: Engine) -> bool:
    return any(word.startswith("-") and engine.resolve_flag(word) for word in texts[1:])


def commented(unit: EffectiveUnit, engine: Engine, what: Sought) -> Iterator[str]:
    """`file:line` of comments in unit files and scripts that give the flag."""
    if not what.flags:
        return
    texts = [(source.path, source.content) for source in unit.sources] + list(unit.files.items())
    for path, content in texts:
        for number, line in enumerate(content.splitlines(), 1):
            bare = line.lstrip()
            if bare.startswith(b"#") and occurrences(_split(bare.lstrip(b"# ")), engine, what):
                yield f"{path}:{number}"
