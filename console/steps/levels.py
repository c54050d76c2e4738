"""The four levels of a setting, out of facts."""

from __future__ import annotations

from console.engines.base import Engine
from console.errors import RefusedError
from console.schema.events import LevelsRead
from console.schema.facts import Facts
from console.settings.drop_in import seen_through
from console.settings.flags import Sought, sought
from console.settings.levels import NOT_GIVEN, Level, Levels, compare, level_of_loaded, level_of_words
from console.settings.locate import locate
from console.settings.resolve import unit_of
from console.settings.sites import Absent, Form


def levels_of(facts: Facts, engine: Engine, setting: str) -> Levels:
    """disk · loaded · running · serving of one setting; what cannot be seen carries its reason."""
    what = sought(engine, flag=setting) if setting.startswith("-") else sought(engine, setting=setting)
    disk, form = _disk(facts, engine, what)
    return compare(
        engine,
        setting,
        disk=disk,
        loaded=_loaded(facts, engine, what, disk, form),
        running=_running(facts, engine, what),
        serving=serving_level(facts, setting),
        pool_tokens=facts.serving.pool_tokens if facts.serving else None,
        slots=facts.serving.slots if facts.serving else 1,
    )


def _disk(facts: Facts, engine: Engine, what: Sought) -> tuple[Level, Form]:
    """What the files say, and in which form, through wrappers and variables."""
    try:
        place = locate(seen_through(unit_of(facts)), engine, what, edit_source=True)
    except RefusedError as error:
        return Level(None, error.message), "word"
    if isinstance(place, Absent):
        return Level(None, NOT_GIVEN), place.form
    value = "true" if what.kind == "flag" and place.value is None else place.value
    return Level(value) if value else Level(None, "it has no value"), place.form


def _loaded(facts: Facts, engine: Engine, what: Sought, disk: Level, form: Form) -> Level:
    if not facts.unit.exec_start:
        return Level(None, "systemd has loaded no command")
    level = level_of_loaded(facts.unit.exec_start[0], engine, what)
    if level.value is None and level.reason == NOT_GIVEN and form != "word" and disk.value is not None:
        return Level(None, f"systemd reads it at the start ({form.replace('-', ' ')})")
    return level


def _running(facts: Facts, engine: Engine, what: Sought) -> Level:
    if not facts.process.pid:
        return Level(None, facts.process.reason or "nothing runs")
    level = level_of_words(facts.process.argv, engine, what)
    if level.value is None and level.reason == NOT_GIVEN:
        own = facts.process.environment
        given = next((own[name] for name in what.environment if name in own), "")
        return Level(given) if given else level
    return level


def serving_level(facts: Facts, setting: str) -> Level:
    """What the engine itself reports of a setting."""
    if facts.serving is None:
        return Level(None, facts.serving_reason or "the engine did not answer")
    if setting == "context_length":
        value = facts.serving.context_length
        return Level(None if value is None else str(value), "" if value is not None else "not reported")
    text = facts.serving.settings.get(setting)
    return Level(text, "" if text is not None else "not reported by the engine")


def event_of(target: str, levels: Levels) -> LevelsRead:
    seen = {"disk": levels.disk, "loaded": levels.loaded, "running": levels.running, "serving": levels.serving}
    return LevelsRead(
        target=target,
        setting=levels.setting,
        disk=levels.disk.value,
        loaded=levels.loaded.value,
        running=levels.running.value,
        serving=levels.serving.value,
        reasons={name: level.reason for name, level in seen.items() if level.value is None},
        pool_tokens=levels.pool_tokens,
        agree=levels.agree,
    )


def same(engine: Engine, setting: str, left: str, right: str) -> bool:
    """Whether two spellings mean the same value."""
    try:
        return engine.parse_value(setting, left) == engine.parse_value(setting, right)
    except (ValueError, KeyError):
        return left == right
