"""The engines known by name; each is loaded when it is first asked for: their tables of log lines are not small."""

from __future__ import annotations

import functools
import importlib

from console.engines.base import Engine
from console.errors import UsageError

# Name → its module. In the order in which a setting's name is looked for.
_MODULES = {
    "sglang": "console.engines.sglang",
    "vllm": "console.engines.vllm",
    "llamacpp": "console.engines.llamacpp",
    "ollama": "console.engines.others",
    "tgi": "console.engines.others",
    "tensorrt-llm": "console.engines.others",
    "llama-cpp-python": "console.engines.others",
    "litellm": "console.engines.others",
}


def is_known_setting(name: str) -> bool:
    """Whether some engine spells this engine-neutral name."""
    return any(name in _engine(engine).spellings for engine in _MODULES)


def known_settings() -> frozenset[str]:
    """Every engine-neutral name that some engine spells."""
    return frozenset(name for engine in _MODULES for name in _engine(engine).spellings)


def engine_named(name: str) -> Engine:
    """The engine that an inventory calls `name`. Raises UsageError listing the known ones."""
    if name not in _MODULES:
        known = ", ".join(sorted(_MODULES))
        raise UsageError(f"unknown engine {name!r}", hint=f"write one of the known engines: {known}")
    return _engine(name)


@functools.cache
def _engine(name: str) -> Engine:
    engines: tuple[Engine, ...] = importlib.import_module(_MODULES[name]).ENGINES
    return next(engine for engine in engines if engine.name == name)
