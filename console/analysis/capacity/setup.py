"""What a command line asks of a GPU's memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from console.analysis.capacity.cache import WINDOW_SHARE, Parallel
from console.analysis.capacity.limits import OVERRIDES, release
from console.engines.base import Engine
from console.errors import RefusedError
from console.settings.flags import sought, value_in

# SGLang's `--mamba-full-memory-ratio` where none is given.
STATE_RATIO = 0.9


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
    value_cache_dtype: str = ""  # llama.cpp keeps keys and values in types of their own; "": as the keys
    slots: int = 1  # requests that share the window given
    unified: bool = True  # any of them may take all of it
    batch_tokens: int = 512  # a pass of the model, llama.cpp's --ubatch-size
    offloaded: bool = True  # the cache is on GPUs
    window_share: float = WINDOW_SHARE  # tokens that window layers keep, of those that all others keep
    state_ratio: float = STATE_RATIO  # memory for states of linear layers over that for tokens
    states_fixed: bool = False  # as many states as were asked for, whatever memory there is


def setup_of(
    words: Sequence[str],
    environment: Mapping[str, str],
    engine: Engine,
    *,
    version: str | None = None,
    reported: Mapping[str, str] | None = None,
) -> Setup:
    """The setup of the argv `words`; what it does not give is taken from what the engine itself `reported`."""
    said = Said(words, engine, reported or {}, environment)
    slots, unified = _slots(said)
    tensor = said.count("tensor_parallel") or 1
    data = said.count("data_parallel") or 1
    attention = said.count("attention_data_parallel") or (data if said.truth("dp_attention") else 1)
    made = Setup(
        engine=engine.name,
        version=version,
        window_text=_window_text(said),
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
        slots=slots,
        unified=unified,
    )
    return replace(made, **_of_engine(said))


def _window_text(said: Said) -> str | None:
    """As it is written; llama.cpp's 0 is the length the model was made for, as if nothing were said."""
    text = said.text("context_length")
    return None if text == "0" and said.engine.name == "llamacpp" else text


def _of_engine(said: Said) -> dict[str, Any]:
    """What only one of the engines has."""
    match said.engine.name:
        case "llamacpp":
            return _llamacpp(said)
        case "sglang":
            return _sglang(said)
        case "vllm":  # its log counts a token of all layers alike
            return {"window_share": 1.0}
    return {}


def _llamacpp(said: Said) -> dict[str, Any]:
    """Its cache has a type for the keys and one for the values; `-ngl 0` and `-nkvo` leave it in the host's memory."""
    layers, batch = said.flag("--n-gpu-layers"), said.flag("--ubatch-size")
    return {
        "cache_dtype": said.flag("--cache-type-k", "LLAMA_ARG_CACHE_TYPE_K") or "auto",
        "value_cache_dtype": said.flag("--cache-type-v", "LLAMA_ARG_CACHE_TYPE_V") or "f16",
        "offloaded": layers != "0" and not {"-nkvo", "--no-kv-offload"} & set(said.words),
        "batch_tokens": int(batch) if batch and batch.isdigit() else 512,
        "window_share": 1.0 if "--swa-full" in said.words else WINDOW_SHARE,
    }


def _sglang(said: Said) -> dict[str, Any]:
    """What it keeps of window layers, and of states of linear ones, beside the tokens of the others."""
    found: dict[str, Any] = {}
    if (share := _share(said.flag("--swa-full-tokens-ratio"))) is not None:
        found["window_share"] = share
    if "--disable-hybrid-swa-memory" in said.words:
        found["window_share"] = 1.0
    if (ratio := _share(said.flag("--mamba-full-memory-ratio"))) is not None:
        found["state_ratio"] = ratio
    found["states_fixed"] = bool(said.flag("--max-mamba-cache-size"))
    return found


def _share(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value <= 100 else None


def _slots(said: Said) -> tuple[int, bool]:
    """llama.cpp's `--parallel`: unless the pool is unified each slot gets its part of the window."""
    if said.engine.name != "llamacpp":
        return 1, True
    slots = said.count("max_running_requests") or 1
    shared = {"--kv-unified", "-kvu"} & set(said.words) and not {"--no-kv-unified", "-no-kvu"} & set(said.words)
    given = said.given("max_running_requests")
    return slots, bool(shared) or slots == 1 or not given


@dataclass(frozen=True)
class Said:
    """Settings of a command line as values; odd ones count as not given."""

    words: Sequence[str]
    engine: Engine
    reported: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)

    def text(self, setting: str) -> str | None:
        value = self.given(setting)
        return value if value is not None else self.reported.get(setting)

    def given(self, setting: str) -> str | None:
        """By the command line, or by a variable that the engine takes in its place."""
        spelling = self.engine.spellings.get(setting)
        if spelling is None:
            return None
        value = value_in(self.words, self.engine, sought(self.engine, setting=setting))
        variables = (self.environment.get(name) for name in spelling.environment)
        return value if value is not None else next((one for one in variables if one is not None), None)

    def flag(self, flag: str, variable: str = "") -> str | None:
        """The value of a flag that is no setting of ours."""
        value = value_in(self.words, self.engine, sought(self.engine, flag=flag))
        return value if value is not None else self.environment.get(variable)

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
        if not what.flags:
            raise RefusedError(f"{engine.name} has no flag for {what.name}, so no command line can be judged with it")
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
