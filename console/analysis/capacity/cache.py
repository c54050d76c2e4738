"""Bytes of KV cache for one token on one GPU: by kind of layer, parallelism and type of the cache.

Layouts: SGLang's `get_cell_size_per_token` and memory pools, vLLM's `kv_cache_interface`. A latent stands whole on
every tensor-parallel rank; heads are split down to one a rank and copied beyond that; decode context parallelism
splits the tokens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from console.analysis.capacity.architecture import Architecture, HeadLayers, LatentLayers, StateLayers

GIB = 1024**3

# Bytes an element takes, scales of its block included. llama.cpp's blocks hold 32 values and one or two 16-bit scales.
_DTYPE_BYTES = {
    "float32": 4.0, "fp32": 4.0, "f32": 4.0,
    "bfloat16": 2.0, "bf16": 2.0, "float16": 2.0, "fp16": 2.0, "half": 2.0, "f16": 2.0,
    "fp8": 1.0, "fp8_e4m3": 1.0, "fp8_e5m2": 1.0, "float8_e4m3fn": 1.0, "float8_e5m2": 1.0, "int8": 1.0,
    "mxfp8": 33 / 32, "nvfp4": 9 / 16, "fp4_e2m1": 9 / 16, "fp4_mx_block16": 9 / 16,
    "q8_0": 34 / 32, "q5_1": 24 / 32, "q5_0": 22 / 32, "q4_1": 20 / 32, "q4_0": 18 / 32,
}  # fmt: skip
# SGLang keeps fewer tokens of window layers: `--swa-full-tokens-ratio`.
WINDOW_SHARE = 0.8


@dataclass(frozen=True)
class Parallel:
    """How many GPUs share the work. `attention_data`: replicas of attention inside the tensor-parallel group."""

    tensor: int = 1
    pipeline: int = 1
    attention_data: int = 1
    decode_context: int = 1

    @property
    def attention_ranks(self) -> int:
        """Ranks over which the heads of one replica of attention are split."""
        return max(self.tensor // max(self.attention_data, 1), 1)

    def __str__(self) -> str:
        parts = [f"TP{self.tensor}"]
        parts += [f"PP{self.pipeline}"] if self.pipeline > 1 else []
        parts += [f"attention DP{self.attention_data}"] if self.attention_data > 1 else []
        parts += [f"DCP{self.decode_context}"] if self.decode_context > 1 else []
        return " ".join(parts)


@dataclass(frozen=True)
class Cell:
    """Bytes one token takes on one GPU.

    `growing`: layers that keep every token. `windowed`: layers that keep the last `window_tokens` of each request, and
    of whose cache an engine makes `window_share` of the others' tokens.
    `draft`: the draft model's cache, which decode context parallelism does not split. `per_request`: state of a
    request, whatever its length. `how`: the arithmetic in words.
    """

    growing: float
    windowed: float = 0.0
    window_tokens: int = 0
    draft: float = 0.0
    per_request: float = 0.0
    how: str = ""
    window_share: float = WINDOW_SHARE

    @property
    def target(self) -> float:
        """What the engine divides its pool by for the model alone; SGLang keeps window layers a share of the tokens."""
        return self.growing + (self.window_share * self.windowed if self.growing else self.windowed)

    @property
    def pooled(self) -> float:
        return self.target + self.draft

    def request_bytes(self, tokens: int) -> float:
        """Cache of one request of this length, on one GPU: window layers never keep more than their window."""
        windowed = self.windowed * min(tokens, self.window_tokens or tokens)
        return (self.growing + self.draft) * tokens + windowed + self.per_request

    def longest_request(self, pool_bytes: float) -> int:
        """The longest request that so many bytes hold when any layer may have any of them."""
        each = self.growing + self.draft
        inside = self.windowed * self.window_tokens
        if each and self.windowed and pool_bytes - inside - self.per_request > each * self.window_tokens:
            return int((pool_bytes - inside - self.per_request) / each)
        return int(max(pool_bytes - self.per_request, 0.0) / (each + self.windowed)) if each + self.windowed else 0

    def with_draft(self, draft: float) -> Cell:
        return replace(self, draft=draft)


def dtype_bytes(name: str) -> float | None:
    """Bytes of one element; None for a type that is not known."""
    return _DTYPE_BYTES.get(name.lower().removeprefix("torch."))


def cache_dtype(asked: str, architecture: Architecture) -> str:
    """The type `auto` comes to: what the checkpoint asks for, else the model's own; bfloat16 where nothing says it."""
    if asked and asked.lower() != "auto":
        return asked
    return architecture.cache_dtype or architecture.dtype or "bfloat16"


def cell_of(
    architecture: Architecture,
    parallel: Parallel,
    dtype: str,
    *,
    value_dtype: str = "",
    window_share: float = WINDOW_SHARE,
) -> Cell | None:
    """The cell of a model; None where architecture or type is unknown. `dtype` is resolved, see `cache_dtype`.

    `value_dtype`: of the values, where they are kept in another type than the keys.
    """
    each, other = dtype_bytes(dtype), dtype_bytes(value_dtype or dtype)
    if each is None or other is None or architecture.unknown or not architecture.layers:
        return None
    # The fullest stage of a pipeline decides.
    stage = math.ceil(architecture.layer_count / parallel.pipeline) / architecture.layer_count
    split = max(parallel.decode_context, 1)
    growing = windowed = per_request = 0.0
    window_tokens = 0
    said: list[str] = []
    for part in architecture.layers:
        count = part.count * stage
        if isinstance(part, LatentLayers):
            packed = part.packed_bytes if part.packed_bytes and each <= 1 else part.elements * each
            growing += (packed + part.index_bytes) * count / split
            said.append(_latent_in_words(part, each, packed, parallel))
        elif isinstance(part, HeadLayers):
            heads = max(part.kv_heads // parallel.attention_ranks, 1)
            size = heads * (part.key_elements * each + part.value_elements * other) * count
            said.append(_heads_in_words(part, heads, each, other, parallel))
            if part.window_tokens is None:
                growing += size / split
            else:
                windowed += size
                window_tokens = part.window_tokens
        else:
            per_request += state_bytes(part, parallel) * stage
            said.append(f"{part.count} linear layers keep a state, no tokens")
    return Cell(growing, windowed, window_tokens, 0.0, per_request, "; ".join(said), window_share)


def state_bytes(part: StateLayers, parallel: Parallel) -> float:
    """State of one request on one rank: convolution inputs in 16 bits, the recurrent state in 32."""
    return part.count * (part.conv_elements * 2 + part.state_elements * 4) / parallel.attention_ranks


def eagle_share(target: Cell, target_layers: int, draft_layers: int) -> float:
    """A draft that shares the target's layout: SGLang sizes it as that many layers more of the target."""
    return target.target * draft_layers / target_layers if target_layers else 0.0


def _latent_in_words(part: LatentLayers, each: float, packed: float, parallel: Parallel) -> str:
    size = f"{part.elements} x {each:g} B" if packed == part.elements * each else f"{packed:g} B"
    index = f" + {part.index_bytes} B of index" if part.index_bytes else ""
    if parallel.decode_context > 1:
        where = f" / DCP{parallel.decode_context}"
    else:
        where = f", whole on each of {parallel.tensor} ranks" if parallel.tensor > 1 else ""
    return f"{part.count} latent layers x ({size}{index}){where}"


def _heads_in_words(part: HeadLayers, heads: int, each: float, other: float, parallel: Parallel) -> str:
    ranks = parallel.attention_ranks
    copies = f", each head {ranks // part.kv_heads}-fold" if ranks > part.kv_heads else ""
    window = f" with a window of {part.window_tokens:,}" if part.window_tokens else ""
    split = f" / DCP{parallel.decode_context}" if parallel.decode_context > 1 and not part.window_tokens else ""
    size = f"({part.key_elements} + {part.value_elements}) x {each:g} B"
    if other != each:
        size = f"({part.key_elements} x {each:g} + {part.value_elements} x {other:g}) B"
    return f"{part.count} layers{window} x {heads} of {part.kv_heads} heads{copies} x {size}{split}"
