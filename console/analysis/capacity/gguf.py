"""The header of a GGUF file as an architecture: llama.cpp keeps what a model is beside its weights.

Format: `ggml-org/ggml`, docs/gguf.md, versions 1 to 3: magic, version, counts, then key, type and value of each item.
Keys are `ARCHITECTURE.name` and stand before the vocabulary, so the first bytes of a file hold them. Never raises.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.analysis.capacity.architecture import (
    MOST_LAYERS,
    Architecture,
    HeadLayers,
    LatentLayers,
    Layers,
    Rope,
)
from console.untrusted import decode, one_line

MAGIC = b"GGUF"
# GGUF's number of a scalar type → struct's letter and its size.
_SCALARS: Mapping[int, tuple[str, int]] = {
    0: ("B", 1), 1: ("b", 1), 2: ("H", 2), 3: ("h", 2), 4: ("I", 4), 5: ("i", 4), 6: ("f", 4), 7: ("?", 1),
    10: ("Q", 8), 11: ("q", 8), 12: ("d", 8),
}  # fmt: skip
_TEXT, _ARRAY = 8, 9
_LONGEST_TEXT, _LONGEST_ARRAY, _MOST_ITEMS = 1 << 16, 4096, 4096
_LARGEST = 1 << 40


class _CutError(Exception):
    """The bytes end, or say what no header says."""


def is_gguf(content: bytes) -> bool:
    return content.startswith(MAGIC)


def read_gguf(content: bytes) -> Architecture:
    """The architecture that the first bytes of a GGUF file describe."""
    found = metadata(content)
    name = found.get("general.architecture")
    if not isinstance(name, str):
        return Architecture(unknown="the GGUF header names no architecture in what was read of it")
    own = _Own(found, name)
    layers, unknown = _layers(own)
    trained = own.count("context_length")
    return Architecture(
        model_type=one_line(name, 60),
        layers=layers,
        unknown=unknown,
        positions={"context_length": trained} if trained else {},
        rope=Rope(
            type=one_line(str(own.value("rope.scaling.type") or ""), 40).replace("none", ""),
            factor=float(own.value("rope.scaling.factor") or 1.0) if own.count("rope.scaling.factor") else 1.0,
            original_tokens=own.count("rope.scaling.original_context_length"),
        ),
        # llama.cpp keeps its cache in 16-bit floats whatever the weights are in, unless told otherwise.
        dtype="f16",
        quantization="gguf",
    )


def metadata(content: bytes) -> dict[str, Any]:
    """Keys with their scalars, texts and short arrays, as far as the bytes reach."""
    return dict(_items(content))


def _items(content: bytes) -> Iterator[tuple[str, Any]]:
    with contextlib.suppress(_CutError, struct.error):
        yield from _whole_items(content)


def _whole_items(content: bytes) -> Iterator[tuple[str, Any]]:
    if not is_gguf(content) or len(content) < 8:
        raise _CutError
    # A big-endian file says so by a version that reads as a huge number the other way round.
    order = "<" if struct.unpack_from("<I", content, 4)[0] < 1 << 16 else ">"
    version = struct.unpack_from(f"{order}I", content, 4)[0]
    reader = _Bytes(content, 8, order, "I" if version == 1 else "Q")
    reader.length()  # tensors
    for _ in range(min(reader.length(), _MOST_ITEMS)):
        key = reader.text()
        yield key, reader.value(int(reader.scalar(4)))


@dataclass
class _Bytes:
    data: bytes
    at: int
    order: str
    count: str  # struct's letter of a length

    def scalar(self, kind: int) -> Any:
        letter, size = _SCALARS.get(kind, ("", 0))
        if not letter:
            raise _CutError
        (value,) = struct.unpack_from(self.order + letter, self.data, self.at)
        self.at += size
        return value

    def length(self) -> int:
        (value,) = struct.unpack_from(self.order + self.count, self.data, self.at)
        self.at += struct.calcsize(self.order + self.count)
        return int(value)

    def text(self) -> str:
        size = self.length()
        if self.at + size > len(self.data):
            raise _CutError
        begin, self.at = self.at, self.at + size
        return decode(self.data[begin : begin + min(size, _LONGEST_TEXT)])

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind != _ARRAY:
            return self.scalar(kind)
        inner, size = int(self.scalar(4)), self.length()
        if inner == _ARRAY:
            raise _CutError
        if inner == _TEXT:  # a vocabulary: what follows it says nothing of the cache
            for _ in range(size):
                self.text()
            return None
        if inner not in _SCALARS:
            raise _CutError
        kept = [self.scalar(inner) for _ in range(min(size, _LONGEST_ARRAY))]
        self.at += (size - len(kept)) * _SCALARS[inner][1]
        return kept


@dataclass(frozen=True)
class _Own:
    """The keys of one architecture, without its name."""

    found: Mapping[str, Any]
    name: str

    def value(self, key: str) -> Any:
        return self.found.get(f"{self.name}.{key}")

    def count(self, key: str) -> int | None:
        return _count(self.value(key))

    def each(self, key: str, layers: int, otherwise: int | None = None) -> list[int] | None:
        """A figure that is one for all layers or one a layer."""
        value = self.value(key)
        if isinstance(value, list):
            return [_count(one) or 0 for one in value[:layers]] if len(value) >= layers else None
        one = _count(value) or otherwise
        return [one] * layers if one else None


def _layers(own: _Own) -> tuple[tuple[Layers, ...], str]:
    """The layers by kind, or why they are not known."""
    named = one_line(own.name, 60)
    blocks = own.count("block_count")
    if not blocks or blocks > MOST_LAYERS:
        return (), f"the GGUF header of type {named} does not say how many layers there are"
    if any(key.startswith((f"{own.name}.ssm.", f"{own.name}.wkv.")) for key in own.found):
        return (), f"a model of type {named} has recurrent layers, whose state is not known here"
    blocks -= min(own.count("nextn_predict_layers") or 0, blocks - 1)
    blocks -= min(own.count("attention.shared_kv_layers") or 0, blocks - 1)
    latent, width = own.count("attention.kv_lora_rank"), own.count("rope.dimension_count")
    heads = own.each("attention.head_count", blocks)
    if latent and width and own.count("attention.key_length_mla"):
        return (LatentLayers(blocks, latent + width),), ""
    kv_heads = own.each("attention.head_count_kv", blocks) or heads
    hidden = own.count("embedding_length")
    if kv_heads is None or heads is None or not hidden:
        return (), f"the GGUF header of type {named} does not say how many heads of which size there are"
    size = own.count("attention.key_length") or hidden // max(*heads, 1)
    sizes = size, own.count("attention.value_length") or size
    wide = own.count("attention.key_length_swa"), own.count("attention.value_length_swa")
    window = own.count("attention.sliding_window")
    return tuple(_grouped(kv_heads, _windowed(own, blocks) if window else [False] * blocks, sizes, wide, window)), ""


def _grouped(
    kv_heads: Sequence[int],
    windowed: Sequence[bool],
    sizes: tuple[int, int],
    wide: tuple[int | None, int | None],
    window: int | None,
) -> Iterator[HeadLayers]:
    """Layers that are alike together; one without heads of its own keeps nothing."""
    pairs = list(zip(kv_heads, windowed, strict=True))
    for heads, slides in dict.fromkeys(pairs):
        if not heads:
            continue
        key, value = (wide[0] or sizes[0], wide[1] or sizes[1]) if slides else sizes
        yield HeadLayers(pairs.count((heads, slides)), heads, key, value, window if slides else None)


def _windowed(own: _Own, blocks: int) -> list[bool]:
    """Which layers look back no further than the window: as listed, or all but every n-th (llama.cpp's own counts)."""
    pattern = own.value("attention.sliding_window_pattern")
    if isinstance(pattern, list) and len(pattern) >= blocks:
        return [bool(one) for one in pattern[:blocks]]
    every = _count(pattern) or _EVERY.get(own.name)
    if every is None:
        return [False] * blocks  # llama.cpp keeps everything where it knows no pattern
    return [(layer + 1) % every != 0 for layer in range(blocks)]


# `set_swa_pattern` of llama.cpp's model loader, where the header lists none: every n-th layer keeps all tokens.
_EVERY: Mapping[str, int] = {
    "gemma2": 2, "gpt-oss": 2, "afmoe": 4, "cohere2": 4, "exaone4": 4, "exaone-moe": 4, "llama4": 4, "olmo2": 4,
    "smallthinker": 4, "gemma3n": 5, "gemma3": 6, "plamo3": 8,
}  # fmt: skip


def _count(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST else None
