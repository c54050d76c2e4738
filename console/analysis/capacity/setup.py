"""What a command line asks of a GPU's memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from console.analysis.capacity.cache import Parallel
from console.analysis.capacity.limits import OVERRIDES, release
from console.engines.base import Engine
from console.settings.flags import sought, value_in


@dataclass(frozen=True)
class Setup:
    """The settings that decide what fits. None: neither the command line nor the engine says it."""

    engine: str
    version: str | None = None
    window_text: str | None = None
    window: int | None = None
    mem_fraction: float | None = None
    cache_dtype: str = "auto"
    draft_cache_dtype: str = ""
    parallel: Parallel = field(default_factory=Parallel)
    max_total_tokens: int | None = None
    max_running: int | None = None
    algorithm: str = ""
    draft_path: str = ""
    model_path: str = ""
    override: str | None = None  # the value of the variable that lets a longer window through


def setup_of(
    words: Sequence[str],
    environment: Mapping[str, str],
    engine: Engine,
    *,
    version: str | None = None,
    reported: Mapping[str, str] | None = None,
) -> Setup:
    """The setup of the argv `words`; what it does not give is taken from what the engine itself `reported`."""
    said = Said(words, engine, reported or {})
    tensor = said.count("tensor_parallel") or 1
    data = said.count("data_parallel") or 1
    attention = said.count("attention_data_parallel") or (data if said.truth("dp_attention") else 1)
    return Setup(
        engine=engine.name,
        version=version,
        window_text=said.text("context_length"),
        window=said.count("context_length"),
        mem_fraction=said.number("mem_fraction") or default_share(engine.name, version),
        cache_dtype=said.text("kv_cache_dtype") or "auto",
        draft_cache_dtype=said.text("draft_kv_cache_dtype") or "",
        parallel=Parallel(
            tensor=tensor,
            pipeline=said.count("pipeline_parallel") or 1,
            attention_data=attention,
            decode_context=said.count("decode_context_parallel") or 1,
        ),
        max_total_tokens=said.count("max_total_tokens"),
        max_running=said.count("max_running_requests"),
        algorithm=said.text("speculative_algorithm") or speculative(words).get("method", ""),
        draft_path=said.text("draft_model_path") or speculative(words).get("model", ""),
        model_path=said.text("model_path") or positional_model(words),
        override=environment.get(OVERRIDES.get(engine.name, "")),
    )


@dataclass(frozen=True)
class Said:
    """Settings of a command line as values; odd ones count as not given."""

    words: Sequence[str]
    engine: Engine
    reported: Mapping[str, str]

    def text(self, setting: str) -> str | None:
        if setting not in self.engine.spellings:
            return None
        value = value_in(self.words, self.engine, sought(self.engine, setting=setting))
        return value if value is not None else self.reported.get(setting)

    def number(self, setting: str) -> float | None:
        text = self.text(setting)
        try:
            value = self.engine.parse_value(setting, text) if text is not None else None
        except ValueError:
            return None
        return float(value) if isinstance(value, int | float) else None

    def count(self, setting: str) -> int | None:
        value = self.number(setting)
        return int(value) if value is not None and 0 < value < 1 << 62 else None

    def truth(self, setting: str) -> bool:
        return bool(self.number(setting))


def default_share(engine: str, version: str | None) -> float | None:
    """The memory share of a command line that gives none: vLLM's is 0.90 up to 0.19 and 0.92 from 0.33 on.

    SGLang works its own out from the GPU and reports it; None where it is not known.
    """
    released = release(version)
    if engine != "vllm" or released is None:
        return None
    return 0.9 if released < (0, 20) else 0.92 if released >= (0, 33) else None


def with_settings(words: Sequence[str], engine: Engine, settings: Mapping[str, str]) -> list[str]:
    """The command line with settings put behind it: of several occurrences engines take the last."""
    said = list(words)
    for name, value in settings.items():
        what = sought(engine, flag=name) if name.startswith("-") else sought(engine, setting=name)
        said += [what.flags[0]] if what.kind == "flag" else [what.flags[0], value]
    return said


def positional_model(words: Sequence[str]) -> str:
    """`vllm serve MODEL`: the word after `serve`, where that is no option."""
    for index, word in enumerate(words[:-1]):
        if word == "serve" and not words[index + 1].startswith("-"):
            return words[index + 1]
    return ""


def speculative(words: Sequence[str]) -> dict[str, str]:
    """Method and model of vLLM's `--speculative-config '{"method": …, "model": …}'`."""
    return {key: str(item) for key, item in _object_after(words, ("--speculative-config", "-sc")).items()}


def overrides(words: Sequence[str]) -> dict[str, Any]:
    """Keys of config.json that the command line replaces: SGLang's JSON, vLLM's."""
    return _object_after(words, ("--json-model-override-args", "--hf-overrides"))


def _object_after(words: Sequence[str], flags: tuple[str, ...]) -> dict[str, Any]:
    """The JSON object that stands behind one of the flags; empty where there is none."""
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name not in flags:
            continue
        try:
            parsed: Any = json.loads(value if equals else words[index + 1])
        except (ValueError, IndexError, RecursionError):
            return {}
        return {str(key): item for key, item in parsed.items()} if isinstance(parsed, dict) else {}
    return {}
