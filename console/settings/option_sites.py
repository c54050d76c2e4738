"""Settings in files of options: an engine's YAML or INI, a compose file, a quadlet."""

from __future__ import annotations

import re
from collections.abc import Sequence

from console.engines.base import Engine
from console.engines.recognise import engine_of, engine_of_image
from console.errors import SettingElsewhereError
from console.settings.command_line import CommandLine, absolute
from console.settings.elsewhere import refuse_file
from console.settings.flags import Occurrence, Sought, occurrences
from console.settings.sites import Absent, Form, Found, Reading
from console.settings.text import Origin
from console.settings.variables import definition
from console.units.commands import Command
from console.units.effective import EffectiveUnit, UnitSource
from console.units.option_files import OptionsError, Words, read_compose, read_ini, read_yaml
from console.units.words import UnbalancedQuoteError, Word, first_word

# Options that name a file with more options in it, and how it is written.
_OPTION_FILES = {
    "--config": read_yaml,
    "--config-file": read_yaml,
    "--models-preset": read_ini,
    "--preset": read_ini,
}
_COMPOSE_NAMES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
_COMPOSE_SWITCHES = frozenset({"--all-resources", "--compatibility", "--dry-run", "--verbose"})
_UP_WITH_VALUE = frozenset(
    {"-t", "--timeout", "--scale", "--pull", "--attach", "--no-attach", "--exit-code-from", "--wait-timeout"}
)
_TEMPLATE = re.compile(r"\$\{[^}]*:[-+=?]")
_VARIABLE = re.compile(rb"\$\{?[A-Za-z_]|%[a-zA-Z]")


def in_option_file(
    unit: EffectiveUnit, command: Command, line: CommandLine, engine: Engine, what: Sought
) -> Found | None:
    """The setting in the file that an option names; None where no option names one.

    Raises SettingElsewhereError where the file was not read, does not have it, or has it more than once.
    """
    texts = line.texts
    for index in range(line.first + 1, len(texts)):
        name, equals, value = texts[index].partition("=")
        if name not in _OPTION_FILES:
            continue
        file = value if equals else texts[index + 1] if index + 1 < len(texts) else ""
        at = unit.resolved.get(file) or absolute(unit, file)
        token = line.tokens[index]
        if line.in_container or at not in unit.files:
            raise SettingElsewhereError(
                f"{what.shown} is not in ExecStart, and {name} {file} may hold it",
                where=file or unit.where(token.path, token.start),
            )
        return _in_file(unit, at, name, engine, what)
    return None


def _in_file(unit: EffectiveUnit, path: str, option: str, engine: Engine, what: Sought) -> Found:
    reader = _OPTION_FILES[option]

    try:
        everything = reader(unit.files[path])
    except OptionsError as error:
        raise SettingElsewhereError(f"{path} cannot be read for sure: {error}", where=path) from None
    found = [each for each in everything if _is_key(each.key, engine, what)]
    if not found:
        raise SettingElsewhereError(
            f"{what.name} is neither in the command nor in {path}", where=path, hint="add it by hand, to either"
        )
    if len(found) > 1:
        places = ", ".join(f"{path}:{each.line}" for each in found)
        sections = ", ".join(f"[{each.section}]" for each in found if each.section)
        raise SettingElsewhereError(
            f"{path} gives {what.name} {len(found)} times{f' ({sections})' if sections else ''}, so which is meant is "
            "a guess",
            where=places,
        )
    refuse_file(unit, path)
    each = found[0]
    if "$" in each.value or not each.value:
        raise SettingElsewhereError(f"the value of {each.key} is no plain word", where=f"{path}:{each.line}")

    def read(changed: EffectiveUnit) -> tuple[str, ...]:
        again = reader(changed.files[path])
        mine = next((item for item in again if _is_key(item.key, engine, what)), None)
        others = [f"{item.section}/{item.key}={item.value}" for item in again if item is not mine]
        return (mine.value if mine is not None else "", *others)

    return Found("options", path, each.value, (Origin(path, each.start, each.end),), each.line, read, 0)


def _is_key(key: str, engine: Engine, what: Sought) -> bool:
    flag = f"--{key}" if len(key) > 1 else f"-{key}"
    if flag in what.flags or f"-{key}" in what.flags:
        return True
    full = engine.resolve_flag(flag)
    return full is not None and full in {engine.resolve_flag(each) for each in what.flags}


def in_compose(unit: EffectiveUnit, command: Command, line: CommandLine, engine: Engine, what: Sought) -> Found:
    """The setting in the `command:` of the one service of a compose file that runs the engine."""
    path = _compose_path(unit, line)
    where = unit.where(line.tokens[line.launch.place].path, line.tokens[line.launch.place].start)
    if path is None or path not in unit.files:
        raise SettingElsewhereError(
            "ExecStart runs a compose file, which holds the engine's options"
            + (f": {path}, which was not read" if path else ", and more than one may be meant"),
            where=path or where,
        )
    _refuse_merged(unit, path, line)
    services = _services(unit, path, engine, what)
    asked = compose_services([token.text for token in line.tokens[line.launch.place + 1 :]])
    if asked:
        others = [each.service for each in services if each.service not in asked]
        services = [each for each in services if each.service in asked]
        if not services and others:
            raise SettingElsewhereError(
                f"ExecStart asks compose for {', '.join(asked)}, and {engine.name} runs in {', '.join(others)}",
                where=path,
            )
    if len(services) != 1:
        names = ", ".join(each.service for each in services) or "no service"
        raise SettingElsewhereError(
            f"{path}: {names} could run {engine.name}, so which is meant is a guess", where=path
        )
    service = services[0]
    texts = [octets.decode("utf-8", "replace") for octets, _ in service.words]
    found = occurrences(texts, engine, what)
    if not found:
        raise SettingElsewhereError(
            f"{what.shown} is not in the command of {service.service}",
            where=f"{path}:{service.line}",
            hint="add it by hand to its command",
        )
    last = found[-1]
    octets, spans = service.words[last.value_index]

    def read(changed: EffectiveUnit) -> tuple[str, ...]:
        again = _services(changed, path, engine, what)
        ordered = sorted(again, key=lambda each: each.service != service.service)
        return tuple(octets.decode("utf-8", "replace") for each in ordered for octets, _ in each.words)

    return _literal("compose", unit, path, octets, spans, last, what, read)


def composed_words(unit: EffectiveUnit, line: CommandLine) -> list[str] | None:
    """The words that compose gives the one service that runs an engine; None where that cannot be told for sure."""
    path = _compose_path(unit, line)
    if path is None or path not in unit.files:
        return None
    asked = compose_services([token.text for token in line.tokens[line.launch.place + 1 :]])
    try:
        services = [each for each in read_compose(unit.files[path]) if not asked or each.service in asked]
    except OptionsError:
        return None
    found = [[octets.decode("utf-8", "replace") for octets, _ in each.words] for each in services]
    engines = [
        texts
        for texts, each in zip(found, services, strict=True)
        if engine_of(texts) is not None or engine_of_image(each.image) is not None
    ]
    if len(engines) != 1 or any("$" in text or "\0" in text for text in engines[0]):
        return None
    return engines[0]


def compose_services(words: Sequence[str]) -> list[str]:
    """The services that `compose … up SERVICE…` is given, out of the words after `compose`; none: all of them."""
    index = 0
    while index < len(words) and words[index].startswith("-"):
        index += 1 if "=" in words[index] or words[index] in _COMPOSE_SWITCHES else 2
    named, index = [], index + 1  # what stands there is the verb
    while index < len(words):
        if words[index].startswith("-"):
            index += 2 if words[index] in _UP_WITH_VALUE else 1
            continue
        named.append(words[index])
        index += 1
    return named


def _refuse_merged(unit: EffectiveUnit, path: str, line: CommandLine) -> None:
    """Raises where compose reads other files, too, or others instead."""
    if any(text in ("-f", "--file") or text.startswith("--file=") for text in line.texts):
        return
    if definition(unit, "COMPOSE_FILE").where or definition(unit, "COMPOSE_FILE").unread:
        raise SettingElsewhereError("COMPOSE_FILE names the files that compose reads", where=path)
    stem = path.rpartition(".")[0]
    other = next((each for each in (f"{stem}.override.yaml", f"{stem}.override.yml") if each in unit.files), None)
    if other is not None:
        raise SettingElsewhereError(f"{other} is read with {path} and wins", where=other)


def _services(unit: EffectiveUnit, path: str, engine: Engine, what: Sought) -> list[Words]:
    try:
        services = read_compose(unit.files[path])
    except OptionsError as error:
        raise SettingElsewhereError(f"{path} cannot be read for sure: {error}", where=path) from None
    found = []
    for each in services:
        texts = [octets.decode("utf-8", "replace") for octets, _ in each.words]
        seen = engine_of(texts) or engine_of_image(each.image)
        if seen == engine.name or (seen is None and occurrences(texts, engine, what)):
            found.append(each)
    return found


def _compose_path(unit: EffectiveUnit, line: CommandLine) -> str | None:
    texts = line.texts
    named = [texts[index + 1] for index, text in enumerate(texts[:-1]) if text in ("-f", "--file")]
    named += [text.partition("=")[2] for text in texts if text.startswith("--file=")]
    if len(named) == 1:
        return absolute(unit, named[0])
    if named:
        return None
    candidates = [absolute(unit, name) for name in _COMPOSE_NAMES]
    return next((path for path in candidates if path in unit.files), candidates[0])


def in_quadlet(unit: EffectiveUnit, path: str, engine: Engine, what: Sought) -> Found | Absent:
    """The setting in Exec= of a quadlet, which podman makes the unit's ExecStart of."""
    source = _source(unit, path)
    if source is None:
        raise SettingElsewhereError(f"the quadlet {path} was not read", where=path)
    words = quadlet_words(source)
    line = next((each for each in reversed(source.text.statements) if each.key == "Exec"), None)
    if words is None or line is None:
        raise SettingElsewhereError(f"{path} has no Exec= that can be read", where=path)
    texts = [word.text for word in words]
    where = f"{path}:{line.first_line}"
    template = next((text for text in texts if _TEMPLATE.search(text)), None)
    if template is not None:
        raise SettingElsewhereError(
            f"{template} is filled in by nobody: {path} is written by another tool", where=where
        )
    image = next((each.text for each in source.text.statements if each.key == "Image"), "")
    seen = engine_of(texts) or engine_of_image(image)
    if seen is not None and seen != engine.name:
        raise SettingElsewhereError(f"the container runs {seen}, not {engine.name}", where=where)
    made = unit.commands() if unit.sources and unit.sources[0].path != path else ()
    # After an edit of ours it is made again by the next reload.
    if path not in unit.edited and made and [word.text for word in made[0].words][-len(texts) :] != texts:
        raise SettingElsewhereError(
            f"{unit.sources[0].path} does not end with the words of Exec=, so it was made from something else",
            where=where,
            hint="systemctl daemon-reload makes it again",
        )
    found = occurrences(texts, engine, what)

    def read(changed: EffectiveUnit) -> tuple[str, ...]:
        again = _source(changed, path)
        return tuple(word.text for word in (quadlet_words(again) if again is not None else None) or ())

    if not found:
        last_word = words[-1]
        anchor = Origin(path, last_word.start, last_word.end)
        return Absent("quadlet", path, line.first_line, read, anchor, len(words) - 1, line.first_line, False, ())
    last = found[-1]
    word = words[last.value_index]
    return _literal("quadlet", unit, path, word.octets, word.spans, last, what, read)


def _source(unit: EffectiveUnit, path: str) -> UnitSource | None:
    if path in unit.files:
        return UnitSource(path, unit.files[path])
    return next((source for source in unit.sources if source.path == path), None)


def quadlet_words(source: UnitSource) -> list[Word] | None:
    """The words of the last Exec= of [Container]; None where there is none that can be read."""
    lines = [each for each in source.text.statements if each.section == "Container" and each.key == "Exec"]
    if not lines:
        return None
    words: list[Word] = []
    position = 0
    while True:
        try:
            word, position = first_word(lines[-1].value, position)
        except UnbalancedQuoteError:
            return None
        if word is None:
            return words
        words.append(word)


def _literal(
    form: Form,
    unit: EffectiveUnit,
    path: str,
    octets: bytes,
    spans: Sequence[tuple[int, int]],
    last: Occurrence,
    what: Sought,
    read: Reading,
) -> Found:
    """The value of an occurrence whose word is `octets`; raises where it is not literal."""
    value, places = octets[last.skip :], spans[last.skip :]
    where = f"{path}:{unit.line(path, spans[0][0]) if spans else 1}"
    if _VARIABLE.search(value) or b"\0" in value:
        shown = value.replace(b"\0", b"\\").decode("utf-8", "replace")
        raise SettingElsewhereError(f"the value of {what.shown} is {shown}, which is filled in elsewhere", where=where)
    if not places:
        raise SettingElsewhereError(f"{what.shown} has no value there", where=where)
    return Found(
        form,
        path,
        last.value,
        (Origin(path, places[0][0], places[-1][1]),),
        unit.line(path, places[0][0]),
        read,
        last.value_index,
        octets[: last.skip].decode("utf-8", "replace"),
    )
