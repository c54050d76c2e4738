"""config.json of a model → its architecture. Never raises: what cannot be understood is said.

The keys are those of the transformers library's configurations; where a model keeps its language part under another
name (`text_config` and the like), that part is read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from console.analysis.capacity.architecture import (
    MOST_LAYERS,
    Architecture,
    HeadLayers,
    LatentLayers,
    Layers,
    Rope,
    StateLayers,
)
from console.analysis.capacity.gguf import is_gguf, read_gguf
from console.untrusted import decode, one_line

_NESTED = ("text_config", "llm_config", "language_config", "language_model_config", "thinker_config")
_LAYER_KEYS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_HEAD_KEYS = ("num_attention_heads", "n_head", "n_heads")
_KV_HEAD_KEYS = ("num_key_value_heads", "num_kv_heads", "multi_query_group_num", "n_head_kv")
_HIDDEN_KEYS = ("hidden_size", "n_embd", "d_model")
POSITION_KEYS = (
    "max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings", "n_positions",
    "max_target_positions", "max_seq_length", "seq_len",
)  # fmt: skip

_FULL = frozenset({"full_attention", "attention", "global", "global_attention", "full", "f"})
_WINDOW = frozenset({"sliding_attention", "local", "local_attention", "chunked_attention", "sliding", "window", "swa"})
_STATE = frozenset({"linear_attention", "kda", "gated_deltanet"})
_LARGEST = 1 << 40
# Keys of models whose cache follows other rules than those written here.
_FOREIGN = {
    "mamba_d_state": "state-space layers",
    "ssm_cfg": "state-space layers",
    "hybrid_override_pattern": "state-space layers",
    "attn_type_list": "lightning attention",
    "compress_ratios": "a compressed cache",
    "cross_attention_layers": "cross attention",
    "is_encoder_decoder": "an encoder",
    "rwkv_version": "no attention",
}


def read_architecture(content: bytes, overrides: Mapping[str, Any] | None = None) -> Architecture:
    """The architecture that the bytes of a config.json, or of a GGUF header, describe.

    `overrides` are keys that a command line replaces.
    """
    if is_gguf(content):
        return read_gguf(content)
    try:
        parsed = json.loads(decode(content))
    except (ValueError, RecursionError):
        return Architecture(unknown="config.json is not JSON")
    if not isinstance(parsed, dict):
        return Architecture(unknown="config.json holds no object")
    text = {**_language_part(parsed), **(overrides or {})}
    layers, unknown = _layers(text)
    return Architecture(
        model_type=one_line(str(text.get("model_type") or parsed.get("model_type") or ""), 60),
        layers=layers,
        unknown=unknown,
        positions={key: value for key in POSITION_KEYS if (value := _count(text.get(key)))},
        rope=_rope(text),
        dtype=_word(text, "torch_dtype", "dtype") or _word(parsed, "torch_dtype", "dtype"),
        cache_dtype=_cache_dtype(text) or _cache_dtype(parsed),
        quantization=_quantization(text) or _quantization(parsed),
        draft_tokens=_count(text.get("block_size")) or _count(_dict(text.get("dflash_config")).get("block_size")),
    )


def _language_part(parsed: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in _NESTED:
        inner = parsed.get(name)
        if isinstance(inner, dict):
            deeper = inner.get("text_config")
            return deeper if isinstance(deeper, dict) else inner
    return parsed


def _layers(text: Mapping[str, Any]) -> tuple[tuple[Layers, ...], str]:
    """The layers by kind, or why they are not known."""
    for key, what in _FOREIGN.items():
        if text.get(key):
            return (), f"a model of type {_named(text)} has {what}, whose cache is not known here"
    count = _first(text, _LAYER_KEYS)
    if not count or count > MOST_LAYERS:
        return (), f"config.json of type {_named(text)} does not say how many layers there are"
    count -= min(_count(text.get("num_kv_shared_layers")) or 0, count - 1)
    kinds, unknown = _kinds(text, count)
    if unknown:
        return (), unknown
    full, window, state = (kinds.count(kind) for kind in ("full", "window", "state"))
    found: list[Layers] = []
    rank, rope = _count(text.get("kv_lora_rank")), _count(text.get("qk_rope_head_dim"))
    if rank and rope is not None:
        if window:
            return (), f"a model of type {_named(text)} has latent layers with a window, which are not known here"
        index = _index_bytes(text)
        packed = rank + math.ceil(rank / 128) * 4 + rope * 2 if index else 0
        found.append(LatentLayers(full, rank + rope, index, packed))
    else:
        heads = _heads(text)
        if heads is None:
            return (), f"config.json of type {_named(text)} does not say how many heads of which size there are"
        found += [HeadLayers(full, *heads)] if full else []
        if window:
            found.append(HeadLayers(window, *_window_heads(text, heads), window_tokens=_window_tokens(text)))
    if state:
        states = _state(text, state)
        if states is None:
            return (), f"the state of the linear layers of type {_named(text)} is not known here"
        found.append(states)
    return tuple(found), ""


def _kinds(text: Mapping[str, Any], count: int) -> tuple[list[str], str]:
    """Each layer as full, window or state; or why that is not known."""
    listed = text.get("layer_types")
    if isinstance(listed, list) and listed:
        kinds = []
        for word in listed[:count]:
            kind = _kind(str(word).lower())
            if not kind:
                return [], f"layers of the kind {one_line(str(word), 40)!r} are not known here"
            kinds.append(kind)
        if len(kinds) != count:
            return [], "layer_types does not name every layer"
        if not _has_window(text):
            kinds = ["full" if kind == "window" else kind for kind in kinds]
        return kinds, ""
    linear = _dict(text.get("linear_attn_config"))
    if linear:
        full = linear.get("full_attn_layers")
        if not isinstance(full, list):
            return [], "linear_attn_config does not name its full layers"
        return ["full" if layer in full else "state" for layer in range(1, count + 1)], ""
    every = _count(text.get("full_attention_interval"))
    if every and _count(text.get("linear_num_value_heads")):
        return ["full" if (layer + 1) % every == 0 else "state" for layer in range(count)], ""
    if not _has_window(text):
        return ["full"] * count, ""
    pattern = _count(text.get("sliding_window_pattern")) or _count(text.get("_sliding_window_pattern"))
    if not pattern and _named(text).startswith("gemma2"):
        pattern = 2
    if not pattern and _named(text).startswith("gemma3"):
        pattern = 6
    if pattern:
        return ["full" if (layer + 1) % pattern == 0 else "window" for layer in range(count)], ""
    if _named(text).startswith("qwen2"):
        first = _count(text.get("max_window_layers")) or 0
        return ["full" if layer < first else "window" for layer in range(count)], ""
    return ["window"] * count, ""


def _kind(word: str) -> str:
    if word in _FULL:
        return "full"
    if word in _WINDOW:
        return "window"
    return "state" if word in _STATE else ""


def _has_window(text: Mapping[str, Any]) -> bool:
    return text.get("use_sliding_window") is not False and bool(_window_tokens(text))


def _window_tokens(text: Mapping[str, Any]) -> int | None:
    return _count(text.get("sliding_window")) or _count(text.get("attention_chunk_size"))


def _heads(text: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Key-value heads, and the size of a key and of a value."""
    heads = _first(text, _HEAD_KEYS)
    kv_heads = _first(text, _KV_HEAD_KEYS) or (1 if text.get("multi_query") is True else heads)
    size = _count(text.get("head_dim"))
    if not size:
        hidden = _first(text, _HIDDEN_KEYS)
        if not hidden or not heads:
            return None
        size = hidden // heads
    if not kv_heads:
        return None
    return kv_heads, size, _count(text.get("v_head_dim")) or size


def _window_heads(text: Mapping[str, Any], heads: tuple[int, int, int]) -> tuple[int, int, int]:
    """Some models give their window layers other heads: `swa_num_key_value_heads`, `swa_head_dim`."""
    size = _count(text.get("swa_head_dim")) or heads[1]
    value = _count(text.get("swa_v_head_dim")) or (size if _count(text.get("swa_head_dim")) else heads[2])
    return _count(text.get("swa_num_key_value_heads")) or heads[0], size, value


def _index_bytes(text: Mapping[str, Any]) -> int:
    """A sparse indexer keeps one key a token in 8 bits, with a 4-byte scale for each 128 (sgl-project/sglang#11309)."""
    size = _count(text.get("index_head_dim"))
    return size + math.ceil(size / 128) * 4 if size and text.get("index_topk") else 0


def _state(text: Mapping[str, Any], count: int) -> StateLayers | None:
    """The convolution's last inputs and the recurrent state of one request, in one layer."""
    linear = _dict(text.get("linear_attn_config"))
    if linear:  # Kimi Delta Attention: as many key heads as value heads, of one size
        heads, size = _count(linear.get("num_heads")), _count(linear.get("head_dim"))
        kernel = _count(linear.get("short_conv_kernel_size"))
        if not (heads and size and kernel):
            return None
        return StateLayers(count, 3 * heads * size * (kernel - 1), heads * size * size)
    keys, values = _count(text.get("linear_num_key_heads")), _count(text.get("linear_num_value_heads"))
    key, value = _count(text.get("linear_key_head_dim")), _count(text.get("linear_value_head_dim"))
    kernel = _count(text.get("linear_conv_kernel_dim"))
    if not (keys and values and key and value and kernel):
        return None
    return StateLayers(count, (2 * keys * key + values * value) * (kernel - 1), values * key * value)


def _rope(text: Mapping[str, Any]) -> Rope:
    said = _dict(text.get("rope_scaling")) or _dict(text.get("rope_parameters"))
    if "full_attention" in said:  # one table a kind of layer, since transformers 5
        said = _dict(said.get("full_attention"))
    kind = said.get("rope_type") or said.get("type") or ""
    factor = said.get("factor")
    return Rope(
        type="" if kind == "default" else one_line(str(kind), 40),
        factor=float(factor) if isinstance(factor, int | float) and 0 < factor < _LARGEST else 1.0,
        original_tokens=_count(said.get("original_max_position_embeddings")),
    )


def _cache_dtype(config: Mapping[str, Any]) -> str:
    """What the checkpoint wants its cache kept in; "" where it leaves that open."""
    said = _dict(config.get("quantization_config"))
    scheme = _dict(said.get("kv_cache_scheme"))
    if scheme.get("num_bits") == 8 and scheme.get("type") == "float":
        return "fp8_e4m3"
    named = str(said.get("kv_cache_quant_algo") or scheme.get("dynamic_type") or "").lower()
    return "fp8_e4m3" if named.startswith("fp8") else ""


def _quantization(config: Mapping[str, Any]) -> str:
    said = _dict(config.get("quantization_config"))
    return one_line(" ".join(str(said[key]) for key in ("quant_method", "format") if said.get(key)), 60)


def _named(text: Mapping[str, Any]) -> str:
    return one_line(str(text.get("model_type") or "?"), 60)


def _first(config: Mapping[str, Any], keys: Sequence[str]) -> int | None:
    return next((value for key in keys if (value := _count(config.get(key)))), None)


def _count(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST else None


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(config: Mapping[str, Any], *keys: str) -> str:
    return next((one_line(value, 40) for key in keys if isinstance(value := config.get(key), str)), "")
