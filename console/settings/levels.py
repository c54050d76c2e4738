"""The four levels of a setting: disk, loaded, running, serving; the first that differs is the diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.engines.base import Engine
from console.settings.flags import Sought, sought, value_in


@dataclass(frozen=True)
class Level:
    """A value at one level; None is n/a, with the reason. `absent`: it was looked at, and the setting is not there."""

    value: str | None
    reason: str = ""

    @property
    def visible(self) -> bool:
        return self.value is not None


@dataclass(frozen=True)
class Levels:
    """One setting at its four levels. `first_difference` names the first level that differs from the one before."""

    setting: str
    disk: Level
    loaded: Level
    running: Level
    serving: Level
    pool_tokens: int | None
    agree: bool
    first_difference: str | None


NOT_GIVEN = "not given"


def level_of_words(words: Sequence[str], engine: Engine, what: Sought) -> Level:
    """The level that a command line shows: the last occurrence, or n/a where the flag is not given."""
    value = value_in(words, engine, what)
    return Level(value) if value is not None else Level(None, NOT_GIVEN)


def level_of_loaded(argv: str, engine: Engine, what: Sought) -> Level:
    """The level in the `argv[]` that systemctl shows: words joined by blanks, unquoted, so split at blanks again."""
    level = level_of_words(argv.split(), engine, what)
    if level.value is not None and "$" in level.value:
        return Level(None, f"{level.value} is filled in at the start")
    return level


def compare(
    engine: Engine,
    name: str,
    *,
    disk: Level,
    loaded: Level,
    running: Level,
    serving: Level,
    pool_tokens: int | None = None,
) -> Levels:
    """The levels of a setting or flag; two agree when they mean the same. A level that cannot be seen is skipped."""
    what = sought(engine, flag=name) if name.startswith("-") else sought(engine, setting=name)
    first_difference: str | None = None
    known: str | None = None
    for level_name, level in (("disk", disk), ("loaded", loaded), ("running", running), ("serving", serving)):
        if level.value is None:
            continue
        if known is not None and not what.same(engine, known, level.value):
            first_difference = level_name
            break
        known = level.value
    return Levels(what.name, disk, loaded, running, serving, pool_tokens, first_difference is None, first_difference)
