"""The four levels of a setting: disk, loaded, running, serving; the first that differs is the diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.engines.base import Engine
from console.settings.flags import Sought, sought, value_in

NOT_GIVEN = "not given"


@dataclass(frozen=True)
class Level:
    """A value at one level; None is n/a, with the reason."""

    value: str | None
    reason: str = ""

    @property
    def is_seen(self) -> bool:
        """Whether this level was looked at and says something, be it that the flag is not given."""
        return self.value is not None or self.reason == NOT_GIVEN


@dataclass(frozen=True)
class Levels:
    """One setting at its four levels. `first_difference` names the first level that differs from the ones before it."""

    setting: str
    disk: Level
    loaded: Level
    running: Level
    serving: Level
    pool_tokens: int | None
    agree: bool
    first_difference: str | None


def level_of_words(words: Sequence[str], engine: Engine, what: Sought) -> Level:
    """What a command line says: the last occurrence; n/a where a variable or specifier is not put in yet."""
    value = value_in(words, engine, what)
    if value is None:
        return Level(None, NOT_GIVEN)
    if "$" in value or "%" in value:
        return Level(None, f"{value} is filled in at the start")
    return Level(value)


def level_of_loaded(argv: str, engine: Engine, what: Sought) -> Level:
    """The level in the `argv[]` that systemctl shows: words joined by blanks, unquoted, so split at blanks again."""
    return level_of_words(argv.split(), engine, what)


def compare(
    engine: Engine,
    name: str,
    *,
    disk: Level,
    loaded: Level,
    running: Level,
    serving: Level,
    pool_tokens: int | None = None,
    slots: int = 1,
) -> Levels:
    """The levels of a setting (or a flag, verbatim), compared by meaning; what cannot be seen is left out.

    An engine that serves its default for a flag nobody gave agrees. Raises RefusedError where the engine has no such
    setting.
    """
    what = sought(engine, flag=name) if name.startswith("-") else sought(engine, setting=name)
    first_difference: str | None = None
    before: Level | None = None
    for level_name, level in (("disk", disk), ("loaded", loaded), ("running", running), ("serving", serving)):
        if not level.is_seen:
            continue
        if before is not None and not _agree(engine, what, before, level, slots if level_name == "serving" else 0):
            first_difference = level_name
            break
        before = level
    return Levels(what.name, disk, loaded, running, serving, pool_tokens, first_difference is None, first_difference)


def _agree(engine: Engine, what: Sought, one: Level, other: Level, slots: int) -> bool:
    """`slots` above 0: the other level is what the engine serves."""
    if one.value is None or other.value is None:
        return slots > 0 or one.value == other.value
    if slots and what.setting is not None and engine.agrees(what.setting, one.value, other.value, slots):
        return True
    return what.same(engine, one.value, other.value)
