"""A GGUF header written by hand, for the tests of what reads one."""

from __future__ import annotations

import struct
from collections.abc import Mapping

UINT32, FLOAT32, BOOL, TEXT, ARRAY = 4, 6, 7, 8, 9

# A model of two kinds of layers: 4 that keep everything and 20 that look back 512 tokens.
SLIDING: dict[str, object] = {
    "general.architecture": "gemma3",
    "gemma3.context_length": 32768,
    "gemma3.block_count": 24,
    "gemma3.embedding_length": 1024,
    "gemma3.attention.head_count": 4,
    "gemma3.attention.head_count_kv": 1,
    "gemma3.attention.key_length": 256,
    "gemma3.attention.value_length": 256,
    "gemma3.attention.sliding_window": 512,
}
PLAIN: dict[str, object] = {
    "general.architecture": "llama",
    "llama.context_length": 65536,
    "llama.block_count": 32,
    "llama.embedding_length": 4096,
    "llama.attention.head_count": 32,
    "llama.attention.head_count_kv": 8,
}
LATENT: dict[str, object] = {
    "general.architecture": "deepseek2",
    "deepseek2.context_length": 163840,
    "deepseek2.block_count": 61,
    "deepseek2.embedding_length": 7168,
    "deepseek2.attention.head_count": 128,
    "deepseek2.attention.head_count_kv": 1,
    "deepseek2.attention.key_length": 576,
    "deepseek2.attention.value_length": 512,
    "deepseek2.attention.key_length_mla": 192,
    "deepseek2.attention.kv_lora_rank": 512,
    "deepseek2.rope.dimension_count": 64,
}


def header(values: Mapping[str, object], *, order: str = "<", version: int = 3, vocabulary: int = 200) -> bytes:
    """The bytes before the tensors: each value in the type a converter gives it, then a vocabulary."""
    size = "I" if version == 1 else "Q"

    def text(value: str) -> bytes:
        return struct.pack(f"{order}{size}", len(value.encode())) + value.encode()

    def item(value: object) -> bytes:
        match value:
            case bool():
                return struct.pack(f"{order}I?", BOOL, value)
            case int():
                return struct.pack(f"{order}II", UINT32, value)
            case float():
                return struct.pack(f"{order}If", FLOAT32, value)
            case list():
                inner = BOOL if isinstance(value[0], bool) else UINT32
                letter = "?" if inner == BOOL else "I"
                head = struct.pack(f"{order}II{size}", ARRAY, inner, len(value))
                return head + struct.pack(f"{order}{len(value)}{letter}", *value)
            case _:
                return struct.pack(f"{order}I", TEXT) + text(str(value))

    head = b"GGUF" + struct.pack(f"{order}I{size}{size}", version, 7, len(values) + 1)
    head += b"".join(text(key) + item(value) for key, value in values.items())
    words = b"".join(text(f"word{number}") for number in range(vocabulary))
    return head + text("tokenizer.ggml.tokens") + struct.pack(f"{order}II{size}", ARRAY, TEXT, vocabulary) + words
