"""A setting or flag among the words of a command line: `--flag value`, `--flag=value`, aliases, prefixes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from console.engines.base import Engine, ValueKind
from console.errors import RefusedError


@dataclass(frozen=True)
class Sought:
    """What is looked for: a setting as the engine spells it, or a flag verbatim. `flags[0]` is what we write."""

    name: str
    flags: tuple[str, ...]
    kind: ValueKind
    environment: tuple[str, ...] = ()
    setting: str | None = None

    @property
    def shown(self) -> str:
        """As a person is told of it: an engine that takes it from the environment alone has no flag."""
        return self.flags[0] if self.flags else self.name

    def same(self, engine: Engine, one: str, other: str) -> bool:
        """Whether two texts mean the same value: `200k` and `200000` for a context length."""
        return one == other or self.meaning(engine, one) == self.meaning(engine, other)

    def meaning(self, engine: Engine, text: str) -> int | float | str:
        """The value a text means; the text itself where the engine cannot read it."""
        if self.setting is None:
            return text
        try:
            return engine.parse_value(self.setting, text)
        except ValueError:
            return text


@dataclass(frozen=True)
class Occurrence:
    """A flag among words; `value_index` is the word its value stands in, after `skip` bytes (the flag and `=`)."""

    index: int
    value_index: int
    skip: int
    value: str | None  # None: the flag takes no value, or nothing follows it

    @property
    def is_joined(self) -> bool:
        return self.skip > 0


def sought(engine: Engine, *, setting: str | None = None, flag: str | None = None) -> Sought:
    """What to look for. A flag that the engine knows as a setting is looked for by all its spellings.

    Raises RefusedError where the engine has no such setting, ValueError unless exactly one of both is given.
    """
    if flag is not None and setting is None:
        full = engine.resolve_flag(flag)
        for spelling in engine.spellings.values():
            if flag in spelling.flags or full in spelling.flags:
                others = tuple(other for other in spelling.flags if other != flag)
                return Sought(flag, (flag, *others), spelling.kind, spelling.environment, spelling.setting)
        return Sought(flag, (flag,), "str")
    if setting is None or flag is not None:
        raise ValueError("give a setting or a flag, one of them")
    found = engine.spellings.get(setting)
    if found is None:
        near = difflib.get_close_matches(setting, engine.spellings, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise RefusedError(f"{engine.name} has no setting {setting!r}{meant}", hint='name the flag: flag = "--…"')
    return Sought(setting, found.flags, found.kind, found.environment, setting)


def occurrences(words: Sequence[str], engine: Engine, what: Sought, first: int = -1) -> tuple[Occurrence, ...]:
    """Every occurrence among `words` after index `first`, in order; engines take the last one."""
    found: list[Occurrence] = []
    index = first + 1
    while index < len(words):
        if not words[index].startswith("-"):
            index += 1
            continue
        if words[index] == "--":
            break
        name, equals, value = words[index].partition("=")
        if not _is_it(name, engine, what):
            index += 1
        elif equals:
            found.append(Occurrence(index, index, len(f"{name}=".encode()), value))
            index += 1
        elif what.kind == "flag" or index + 1 == len(words):
            found.append(Occurrence(index, index, 0, None))
            index += 1
        else:
            found.append(Occurrence(index, index + 1, 0, words[index + 1]))
            index += 2
    return tuple(found)


def value_in(words: Sequence[str], engine: Engine, what: Sought) -> str | None:
    """The value that takes effect among `words` (`true` for a flag that stands there); None where there is none."""
    found = occurrences(words, engine, what)
    if not found:
        return None
    return "true" if what.kind == "flag" and found[-1].value is None else found[-1].value


def _is_it(name: str, engine: Engine, what: Sought) -> bool:
    if name in what.flags:
        return True
    full = engine.resolve_flag(name)
    return full is not None and (full in what.flags or full in map(engine.resolve_flag, what.flags[:1]))
