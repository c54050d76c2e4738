"""The four levels of a setting, out of facts."""

from __future__ import annotations

from console.engines.base import Engine
from console.schema.events import LevelsRead
from console.schema.facts import Facts
from console.settings.flags import sought
from console.settings.levels import Level, Levels, compare, level_of_loaded, level_of_words
from console.settings.resolve import argv_on_disk, environment_on_disk, unit_of


def levels_of(facts: Facts, engine: Engine, setting: str) -> Levels:
    """disk · loaded · running · serving of one setting; what cannot be seen carries its reason."""
    unit = unit_of(facts)
    argv = argv_on_disk(unit, environment_on_disk(unit))
    what = sought(engine, flag=setting) if setting.startswith("-") else sought(engine, setting=setting)
    unresolved = Level(None, "the command line cannot be resolved to words")
    return compare(
        engine,
        setting,
        disk=unresolved if argv is None else level_of_words(argv, engine, what),
        loaded=level_of_loaded(facts.unit.exec_start[0], engine, what)
        if facts.unit.exec_start
        else Level(None, "systemd has loaded no command"),
        running=level_of_words(facts.process.argv, engine, what)
        if facts.process.pid
        else Level(None, facts.process.reason or "nothing runs"),
        serving=serving_level(facts, setting),
        pool_tokens=facts.serving.pool_tokens if facts.serving else None,
    )


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
