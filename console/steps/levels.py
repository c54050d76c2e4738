"""The four levels of a setting, out of facts."""

from __future__ import annotations

from console.engines.base import Engine
from console.schema.events import LevelsRead
from console.schema.facts import Facts
from console.settings.levels import Levels, compare
from console.settings.resolve import argv_on_disk, environment_on_disk, unit_of


def levels_of(facts: Facts, engine: Engine, setting: str) -> Levels:
    """disk · loaded · running · serving of one setting; what cannot be seen carries its reason."""
    unit = unit_of(facts)
    disk_argv = argv_on_disk(unit, environment_on_disk(unit))
    return compare(
        engine,
        setting,
        disk_argv=disk_argv,
        loaded_text=facts.unit.exec_start[0] if facts.unit.exec_start else None,
        running_argv=list(facts.process.argv) if facts.process.pid else None,
        running_reason=facts.process.reason,
        serving=facts.serving,
        serving_reason=facts.serving_reason,
    )


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
