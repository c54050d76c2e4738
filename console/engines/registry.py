"""The engines known by name."""

from __future__ import annotations

from console.engines.base import Engine
from console.engines.llamacpp import LlamaCpp
from console.engines.others import OTHERS
from console.engines.sglang import SGLang
from console.engines.vllm import VLLM
from console.errors import UsageError

_ENGINES: dict[str, Engine] = {engine.name: engine for engine in (SGLang(), VLLM(), LlamaCpp(), *OTHERS)}


def known_settings() -> frozenset[str]:
    """Every engine-neutral name that some engine spells."""
    return frozenset(name for engine in _ENGINES.values() for name in engine.spellings)


def engine_named(name: str) -> Engine:
    """The engine that an inventory calls `name`. Raises UsageError listing the known ones."""
    try:
        return _ENGINES[name]
    except KeyError:
        known = ", ".join(sorted(_ENGINES))
        raise UsageError(f"unknown engine {name!r}", hint=f"write one of the known engines: {known}") from None
