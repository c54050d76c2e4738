"""A small reader of unit files, written apart from the one it helps to test."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

# Settings of which every assignment counts; an empty one forgets those before it.
LISTS = {"ExecStart", "Environment", "EnvironmentFile", "PassEnvironment", "WantedBy", "RequiredBy", "After", "Wants"}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
PREFIXES = "-@:+!"


class UnitError(Exception):
    """Words that systemd would not take; the text says why."""


@dataclass(frozen=True)
class Command:
    """One command of ExecStart. `argv` is as loaded: specifiers are replaced, variables are not."""

    path: str
    argv: tuple[str, ...]
    ignore_failure: bool = False
    expand: bool = True


@dataclass(frozen=True)
class Unit:
    """What the manager has loaded of a unit; `stamps` tells whether its files changed since."""

    name: str
    load_state: str = "not-found"
    fragment: Path | None = None
    drop_ins: tuple[Path, ...] = ()
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    commands: tuple[Command, ...] = ()
    environment: tuple[str, ...] = ()
    environment_files: tuple[tuple[str, bool], ...] = ()  # path, whether a missing one is ignored
    stamps: tuple[tuple[str, int], ...] = ()
    warnings: tuple[str, ...] = ()

    def get(self, name: str, default: str = "") -> str:
        values = self.settings.get(name, ())
        return values[-1] if values else default


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number of the first line, and the line with its continuations. A comment inside a continued line is dropped."""
    pending, first = "", 0
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.removesuffix("\r")
        if line.lstrip()[:1] in ("#", ";"):
            continue
        if not pending:
            first = number
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        yield first, pending + line
        pending = ""
    if pending:
        yield first, pending


def parse(text: str, path: str) -> tuple[list[tuple[str, str, str]], list[str]]:
    """(key, value, where) in order, and warnings as `systemd-analyze verify` words them."""
    found: list[tuple[str, str, str]] = []
    warnings: list[str] = []
    section = ""
    for number, raw in logical_lines(text):
        line, where = raw.strip(), f"{path}:{number}"
        if not line:
            continue
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            continue
        key, equals, value = line.partition("=")
        if not equals:
            warnings.append(f"{where}: Missing '=', ignoring line.")
        elif not section:
            warnings.append(f"{where}: Assignment outside of section. Ignoring.")
        else:
            found.append((key.strip(), value.strip(), where))
    return found, warnings


def split_words(text: str) -> list[str]:
    """Words with quotes and C escapes resolved, as systemd's. Raises UnitError for an open quote."""
    words: list[str] = []
    current: list[str] | None = None
    quote = ""
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            taken, used = unescape(text[at + 1 :])
            current = [*(current or []), taken]
            at += 1 + used
            continue
        at += 1
        if quote:
            if char == quote:
                quote = ""
            else:
                current = [*(current or []), char]
        elif char in "\"'":
            quote, current = char, current or []
        elif char.isspace():
            if current is not None:
                words.append("".join(current))
            current = None
        else:
            current = [*(current or []), char]
    if quote:
        raise UnitError("Unbalanced quoting")
    if current is not None:
        words.append("".join(current))
    return words


def unescape(text: str) -> tuple[str, int]:
    """What stands for an escape, and how many characters after the backslash it took."""
    if text[0] in ESCAPES:
        return ESCAPES[text[0]], 1
    found = re.match(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-7]{3})", text)
    if found:
        digits = found[1] or found[2] or found[3]
        return chr(int(digits, 8 if found[3] else 16)), found.end()
    if text[0] in "\\\"'":
        return text[0], 1
    return "\\" + text[0], 1


def specifiers(text: str, name: str) -> str:
    stem = name.rpartition(".")[0]
    prefix, at, instance = stem.partition("@")
    values = {
        "n": name,
        "N": stem,
        "p": prefix,
        "P": prefix,
        "i": instance if at else "",
        "I": instance if at else "",
        "%": "%",
        "h": str(Path.home()),
        "H": os.uname().nodename,
        "t": "/run",
        "S": "/var/lib",
        "u": "root",
        "U": "0",
    }
    return re.sub("%(.)", lambda found: values.get(found[1], found[0]), text)


def load(folder: Path, name: str) -> Unit:
    """Read a unit and its drop-ins; what is wrong with it ends in `load_state` and `warnings`."""
    prefix, at, rest = name.partition("@")
    candidates = [name] + ([f"{prefix}@.{rest.rpartition('.')[2]}"] if at else [])
    fragment = next((folder / each for each in candidates if (folder / each).exists()), None)
    if fragment is None:
        return Unit(name)
    if fragment.resolve() == Path("/dev/null") or fragment.stat().st_size == 0:
        return Unit(name, "masked", fragment=fragment, stamps=stamp([fragment]))
    drop_ins: dict[str, Path] = {}
    for each in reversed(candidates):
        drop_ins.update({path.name: path for path in (folder / f"{each}.d").glob("*.conf")})
    ordered = tuple(drop_ins[key] for key in sorted(drop_ins))
    files = (fragment, *ordered)
    base = Unit(name, fragment=fragment, drop_ins=ordered, stamps=stamp(files))
    settings: dict[str, list[str]] = {}
    warnings: list[str] = []
    for path in files:
        found, told = parse(path.read_bytes().decode("utf-8", "surrogateescape"), str(path))
        warnings += told
        for key, value, where in found:
            if key not in LISTS:
                settings[key] = [value]
            elif not value:
                settings[key] = []
            elif key == "ExecStart" and (wrong := refusal(value)):
                warnings.append(f'{where}: {wrong}, ignoring: "{value}"')
                warnings.append(f"{name}: Unit configuration has fatal error, unit will not be started.")
                return replace(base, load_state="bad-setting", warnings=tuple(warnings))
            else:
                settings.setdefault(key, []).append(value)
    return build(base, {key: tuple(values) for key, values in settings.items()}, warnings)


def refusal(value: str) -> str:
    """Why systemd would not take this command; empty when it would."""
    try:
        return "" if split_words(value.lstrip(PREFIXES)) else "Executable name is empty"
    except UnitError as error:
        return str(error)


def build(base: Unit, settings: Mapping[str, tuple[str, ...]], warnings: list[str]) -> Unit:
    name = base.name
    commands = tuple(command(value, name) for value in settings.get("ExecStart", ()))
    state = "loaded"
    if not commands:
        warnings.append(f"{name}: Service has no ExecStart=, ExecStop=, or SuccessAction=. Refusing.")
        state = "bad-setting"
    elif len(commands) > 1 and (settings.get("Type") or ("simple",))[-1] != "oneshot":
        warnings.append(
            f"{name}: Service has more than one ExecStart= setting, "
            "which is only allowed for Type=oneshot services. Refusing."
        )
        state = "bad-setting"
    environment: dict[str, str] = {}
    for line in settings.get("Environment", ()):
        try:
            words = split_words(specifiers(line, name))
        except UnitError as error:
            warnings.append(f"{name}: {error}, ignoring: {line}")
            continue
        for word in words:
            key, equals, value = word.partition("=")
            if equals:
                environment.pop(key, None)
                environment[key] = value
    return replace(
        base,
        load_state=state,
        settings=settings,
        commands=commands,
        environment=tuple(f"{key}={value}" for key, value in environment.items()),
        environment_files=tuple(
            (specifiers(value.removeprefix("-"), name), value.startswith("-"))
            for value in settings.get("EnvironmentFile", ())
        ),
        warnings=tuple(warnings),
    )


def command(value: str, name: str) -> Command:
    flags = value[: len(value) - len(value.lstrip(PREFIXES))]
    words = [specifiers(word, name) for word in split_words(value[len(flags) :])]
    path = words[0] if "/" in words[0] else (shutil.which(words[0], path="/usr/local/bin:/usr/bin:/bin") or words[0])
    argv = words[1:] if "@" in flags else [path, *words[1:]]
    return Command(path, tuple(argv), "-" in flags, ":" not in flags)


def stamp(files: list[Path] | tuple[Path, ...]) -> tuple[tuple[str, int], ...]:
    found = []
    for path in files:
        try:
            found.append((str(path), path.stat().st_mtime_ns))
        except OSError:
            found.append((str(path), 0))
    return tuple(found)


def changed_on_disk(folder: Path, unit: Unit) -> bool:
    """NeedDaemonReload: a file is newer than what was loaded, or there is one more or less."""
    now = load(folder, unit.name)
    return now.stamps != unit.stamps


def read_environment_file(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for _, line in logical_lines(text):
        key, equals, value = line.partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", key.strip()):
            raw = value.strip()
            found[key.strip()] = "".join(split_words(raw)) if raw[:1] in ("'", '"') else raw
    return found


def expand(words: tuple[str, ...], environ: Mapping[str, str]) -> list[str]:
    """`${NAME}` inside a word, `$NAME` as a word of its own (which may become several or none), `$$` for a dollar."""
    result: list[str] = []
    for word in words:
        alone = re.fullmatch(r"\$([A-Za-z_]\w*)", word)
        if alone:
            result += split_words(environ.get(alone[1], ""))
        else:
            pattern = r"\$\$|\$\{([A-Za-z_]\w*)\}"
            result.append(re.sub(pattern, lambda found: environ.get(found[1], "") if found[1] else "$", word))
    return result
