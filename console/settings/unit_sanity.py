"""What a unit does with its engine that nobody meant: one sentence with line and fix each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from console.engines.base import Engine
from console.errors import RefusedError
from console.secrets import is_secret_name
from console.settings.command_line import CommandLine, command_line
from console.settings.locate import only_command
from console.units.effective import EffectiveUnit
from console.units.environment import environment
from console.units.notices import notices

# None of these releases speaks to systemd's notification socket.
_NEVER_NOTIFY = frozenset({"sglang", "vllm", "llamacpp", "llama-cpp-python", "tgi", "tensorrt-llm", "ollama"})
# Engines whose children have no handler for SIGTERM, so that they die before the drain.
_CHILDREN_DIE = frozenset({"sglang", "vllm"})
_SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "hr": 3600.0}


@dataclass(frozen=True)
class Finding:
    """Something to mend. `fix` is what to write instead; empty where the message says it."""

    where: str
    message: str
    fix: str = ""
    is_fatal: bool = False

    @property
    def text(self) -> str:
        return f"{self.where}: {self.message}" + (f"; {self.fix}" if self.fix else "")


def findings(unit: EffectiveUnit, engine: Engine, load_s: float | None = None) -> tuple[Finding, ...]:
    """All of them: what systemd drops or misreads, then what the engine cannot do so. `load_s`: how long it loads."""
    found = [Finding(each.where, each.message, is_fatal=each.is_fatal) for each in notices(unit)]
    return (*found, *_start(unit, engine, load_s), *_stop(unit, engine), *_secrets(unit, engine))


def _start(unit: EffectiveUnit, engine: Engine, load_s: float | None) -> Iterator[Finding]:
    kind = unit.last_assignment("Service", "Type")
    waits = kind is not None and kind.value in ("notify", "notify-reload", "forking", "oneshot")
    if kind is not None and kind.value in ("notify", "notify-reload") and engine.name in _NEVER_NOTIFY:
        message = f"Type={kind.value}, but {engine.name} never notifies: systemd ends it when TimeoutStartSec= is over"
        yield Finding(kind.where, message, "Type=simple")
    limit = unit.last_assignment("Service", "TimeoutStartSec") or unit.last_assignment("Service", "TimeoutSec")
    seconds = span_s(limit.value) if limit is not None else 90.0
    if waits and load_s is not None and seconds is not None and seconds < load_s:
        where = limit.where if limit is not None else unit.sources[0].path
        message = f"a start took {load_s:.0f} s, and systemd ends it after {seconds:.0f} s"
        yield Finding(where, message, f"TimeoutStartSec={int(load_s * 3)}")


def _stop(unit: EffectiveUnit, engine: Engine) -> Iterator[Finding]:
    kill = unit.last_assignment("Service", "KillMode")
    mode = kill.value if kill is not None else "control-group"
    where = kill.where if kill is not None else (unit.sources[0].path if unit.sources else unit.name)
    if mode == "control-group" and engine.name in _CHILDREN_DIE:
        message = "KillMode=control-group ends the engine's children at once, so a stop drains nothing"
        yield Finding(where, message, "KillMode=mixed")
    if mode in ("process", "none"):
        message = f"KillMode={mode} leaves processes behind that hold GPU memory and the port"
        yield Finding(where, message, "KillMode=mixed")


def _secrets(unit: EffectiveUnit, engine: Engine) -> Iterator[Finding]:
    fix = "a file only root can read, in EnvironmentFile=, or LoadCredential="
    for variable in environment(unit):
        if is_secret_name(variable.name) and variable.value:
            yield Finding(variable.where, f"{variable.name} stands in the unit, which everybody can read", fix)
    line = _line(unit)
    for index, token in enumerate(line.tokens if line is not None else ()):
        name, equals, value = token.text.partition("=")
        follows = equals or (line is not None and index + 1 < len(line.tokens))
        if not (name.startswith("-") and is_secret_name(name) and follows) or "file" in name:
            continue
        given = value if equals else line.tokens[index + 1].text if line is not None else ""
        if given and "…" not in given:
            yield Finding(unit.where(token.path, token.start), f"{name} is readable by everybody on the host", fix)


def _line(unit: EffectiveUnit) -> CommandLine | None:
    try:
        return command_line(unit, only_command(unit), None, None)
    except RefusedError:
        return None


def span_s(text: str) -> float | None:
    """`15min`, `90`, `1h 30min` in seconds; None for `infinity` and what is no time span."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip())
    if not parts or any(unit not in _SECONDS for _, unit in parts):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)
