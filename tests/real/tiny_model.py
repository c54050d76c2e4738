"""A llama model of random weights as a GGUF file, small enough to be written when a test begins.

The format: `ggml-org/llama.cpp`, gguf version 3. It says nothing worth reading, but it is loaded, answers, counts
tokens and keeps a KV cache like any other.
"""

from __future__ import annotations

import random
import struct
from array import array
from pathlib import Path

LAYERS, WIDTH, HEADS, KV_HEADS, FEED_FORWARD = 2, 64, 4, 2, 128
TRAINED_CONTEXT = 65536
_ALIGNMENT = 32
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_UINT32, _INT32, _FLOAT32, _STRING, _ARRAY = 4, 5, 6, 8, 9


def vocabulary() -> list[tuple[str, int]]:
    """Token and its type; 6,000 of them, so that the ids a probe draws exist."""
    tokens = [("<unk>", _UNKNOWN), ("<s>", _CONTROL), ("</s>", _CONTROL)]
    tokens += [(f"<0x{octet:02X}>", _BYTE) for octet in range(256)]
    tokens += [("\u2581", _NORMAL)] + [(chr(code), _NORMAL) for code in range(0x21, 0x7F)]
    tokens += [(f"\u2581word{number}", _NORMAL) for number in range(6000 - len(tokens))]
    return tokens


def write(path: Path, seed: int = 7) -> Path:
    """Write the model; the same seed gives the same bytes."""
    rng = random.Random(seed)
    tokens = vocabulary()
    tensors = list(_tensors(rng, tokens))
    metadata = _metadata(tokens)
    head = bytearray(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata)))
    for key, kind, value in metadata:
        head += _text(key) + struct.pack("<I", kind) + value
    offset = 0
    for name, shape, data in tensors:
        head += _text(name) + struct.pack("<I", len(shape))
        head += b"".join(struct.pack("<Q", size) for size in shape) + struct.pack("<IQ", 0, offset)
        offset += _padded(len(data) * 4)
    head += bytes(_padded(len(head)) - len(head))
    with path.open("wb") as file:
        file.write(head)
        for _, _, data in tensors:
            octets = data.tobytes()
            file.write(octets + bytes(_padded(len(octets)) - len(octets)))
    return path


def _metadata(tokens: list[tuple[str, int]]) -> list[tuple[str, int, bytes]]:
    def number(value: int) -> tuple[int, bytes]:
        return _UINT32, struct.pack("<I", value)

    def many(kind: int, items: list[bytes]) -> tuple[int, bytes]:
        return _ARRAY, struct.pack("<IQ", kind, len(items)) + b"".join(items)

    values: list[tuple[str, tuple[int, bytes]]] = [
        ("general.architecture", (_STRING, _text("llama"))),
        ("general.name", (_STRING, _text("tiny"))),
        ("llama.context_length", number(TRAINED_CONTEXT)),
        ("llama.embedding_length", number(WIDTH)),
        ("llama.block_count", number(LAYERS)),
        ("llama.feed_forward_length", number(FEED_FORWARD)),
        ("llama.attention.head_count", number(HEADS)),
        ("llama.attention.head_count_kv", number(KV_HEADS)),
        ("llama.rope.dimension_count", number(WIDTH // HEADS)),
        ("llama.vocab_size", number(len(tokens))),
        ("llama.attention.layer_norm_rms_epsilon", (_FLOAT32, struct.pack("<f", 1e-5))),
        ("tokenizer.ggml.model", (_STRING, _text("llama"))),
        ("tokenizer.ggml.tokens", many(_STRING, [_text(token) for token, _ in tokens])),
        ("tokenizer.ggml.scores", many(_FLOAT32, [struct.pack("<f", -float(i)) for i in range(len(tokens))])),
        ("tokenizer.ggml.token_type", many(_INT32, [struct.pack("<i", kind) for _, kind in tokens])),
        ("tokenizer.ggml.bos_token_id", number(1)),
        ("tokenizer.ggml.eos_token_id", number(2)),
        ("tokenizer.ggml.unknown_token_id", number(0)),
    ]
    return [(key, kind, value) for key, (kind, value) in values]


def _tensors(rng: random.Random, tokens: list[tuple[str, int]]) -> list[tuple[str, tuple[int, ...], array[float]]]:
    def weights(*shape: int) -> tuple[tuple[int, ...], array[float]]:
        count = 1
        for size in shape:
            count *= size
        return shape, array("f", [0.04 * (rng.random() - 0.5) for _ in range(count)])

    def ones(size: int) -> tuple[tuple[int, ...], array[float]]:
        return (size,), array("f", [1.0] * size)

    kv_width = WIDTH // HEADS * KV_HEADS
    shape, output = weights(WIDTH, len(tokens))
    for index, (_, kind) in enumerate(tokens):
        if kind != _NORMAL:  # bytes at random are no text, and the server refuses to answer with them
            output[index * WIDTH : (index + 1) * WIDTH] = array("f", [0.0] * WIDTH)
    found = [
        ("token_embd.weight", *weights(WIDTH, len(tokens))),
        ("output_norm.weight", *ones(WIDTH)),
        ("output.weight", shape, output),
    ]
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        found += [
            (f"{block}.attn_norm.weight", *ones(WIDTH)),
            (f"{block}.attn_q.weight", *weights(WIDTH, WIDTH)),
            (f"{block}.attn_k.weight", *weights(WIDTH, kv_width)),
            (f"{block}.attn_v.weight", *weights(WIDTH, kv_width)),
            (f"{block}.attn_output.weight", *weights(WIDTH, WIDTH)),
            (f"{block}.ffn_norm.weight", *ones(WIDTH)),
            (f"{block}.ffn_gate.weight", *weights(WIDTH, FEED_FORWARD)),
            (f"{block}.ffn_up.weight", *weights(WIDTH, FEED_FORWARD)),
            (f"{block}.ffn_down.weight", *weights(FEED_FORWARD, WIDTH)),
        ]
    return found


def _text(text: str) -> bytes:
    octets = text.encode()
    return struct.pack("<Q", len(octets)) + octets


def _padded(size: int) -> int:
    return (size + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
