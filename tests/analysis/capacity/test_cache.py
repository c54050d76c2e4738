"""Bytes of a token, by model family and parallelism, against what engines logged; cases in tests/cases/models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console.analysis.capacity.architecture import Architecture
from console.analysis.capacity.cache import GIB, Parallel, cache_dtype, cell_of
from console.analysis.capacity.config import read_architecture
from console.analysis.capacity.predict import pool_beside_weights

MODELS = Path(__file__).parents[2] / "cases" / "models"
CASES = [json.loads(line) for line in (MODELS / "cells.jsonl").read_text().splitlines()]


def model(name: str) -> Architecture:
    return read_architecture((MODELS / name / "config.json").read_bytes())


def parallel(case: dict[str, Any]) -> Parallel:
    names = ("tensor", "pipeline", "attention_data", "decode_context")
    return Parallel(**{name: case[name] for name in names if name in case})


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(str(value) for value in list(case.values())[:3]))
def test_bytes_of_a_token(case: dict[str, Any]) -> None:
    architecture = model(case["model"])
    cell = cell_of(architecture, parallel(case), case.get("dtype") or cache_dtype("auto", architecture))
    assert cell is not None, architecture.unknown
    assert cell.growing == case["bytes"]
    assert cell.windowed == case.get("windowed", 0)
    assert cell.window_tokens == case.get("window", 0)
    assert cell.per_request == case.get("per_request", cell.per_request)
    if "tokens" in case:
        assert case["tokens"] * cell.growing / GIB == pytest.approx(case["gib"], rel=0.01)


def test_the_families_are_eight_and_more() -> None:
    assert len({case["model"] for case in CASES}) >= 8
    assert len([case for case in CASES if "gib" in case]) >= 6


# 8,784 B x 262,144 are 2.14453 GiB, so 2.14; a table that rounds its own 2.145 once more has 2.15.
TABLE = [
    # type, ranks that share a token, bytes, then GB and GiB at 32,768 · 128,000 · 200,000 · 262,144 tokens
    ("bfloat16", 1, 70_272, ("2.30", "2.145"), ("8.99", "8.38"), ("14.05", "13.09"), ("18.42", "17.16")),
    ("bfloat16", 8, 8_784, ("0.288", "0.268"), ("1.12", "1.05"), ("1.757", "1.636"), ("2.30", "2.14")),
    ("fp8_e4m3", 1, 35_136, ("1.15", "1.072"), ("4.50", "4.19"), ("7.03", "6.545"), ("9.21", "8.58")),
    ("fp8_e4m3", 8, 4_392, ("0.144", "0.134"), ("0.562", "0.524"), ("0.878", "0.818"), ("1.15", "1.07")),
]


@pytest.mark.parametrize(("dtype", "split", "each", "sizes"), [(row[0], row[1], row[2], row[3:]) for row in TABLE])
def test_kimi_k2_6_on_eight_gpus(dtype: str, split: int, each: int, sizes: tuple[tuple[str, str], ...]) -> None:
    cell = cell_of(model("kimi-k2.6"), Parallel(tensor=8, decode_context=split), dtype)
    assert cell is not None
    assert cell.growing == each
    for tokens, (gb, gib) in zip((32_768, 128_000, 200_000, 262_144), sizes, strict=True):
        size = cell.request_bytes(tokens)
        assert _as_written(size / 1e9, gb) == gb, (tokens, size)
        assert _as_written(size / GIB, gib) == gib, (tokens, size)


def _as_written(value: float, text: str) -> str:
    return f"{value:.{len(text.partition('.')[2])}f}"


@pytest.mark.parametrize(
    ("ranks", "dtype", "millions"),
    [(4, "bfloat16", 0.445), (8, "fp8_e4m3", 3.0)],
)
def test_published_capacities_beside_595_gb_of_weights(ranks: int, dtype: str, millions: float) -> None:
    """180 GB of each GPU count whole (a share of 1), weights split evenly, nothing for graphs and activations."""
    cell = cell_of(model("kimi-k2.6"), Parallel(tensor=ranks), dtype)
    assert cell is not None
    tokens = pool_beside_weights(180e9, 595e9, ranks, cell.pooled)
    assert tokens / 1e6 == pytest.approx(millions, rel=0.005)


def test_a_request_in_window_layers_stops_growing() -> None:
    cell = cell_of(model("gpt-oss-120b"), Parallel(), "bfloat16")
    assert cell is not None
    assert cell.request_bytes(64) == 64 * 73_728
    assert cell.request_bytes(100_000) == 100_000 * 36_864 + 128 * 36_864


def test_what_is_not_understood_is_said() -> None:
    architecture = model("state-space")
    assert "state-space layers" in architecture.unknown
    assert cell_of(architecture, Parallel(), "bfloat16") is None
    assert architecture.positions == {"max_position_embeddings": 262144}, "its limit is known all the same"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"),
        (b"[]", "no object"),
        (b"{}", "how many layers"),
        (b'{"num_hidden_layers": 4}', "how many heads"),
        (b'{"num_hidden_layers": 1e999}', "how many layers"),
        (b'{"num_hidden_layers": 2, "layer_types": ["odd", "odd"]}', "'odd'"),
        (b"[" * 100_000, "not JSON"),
        (b'{"num_hidden_layers": 1000000000000, "num_attention_heads": 2, "hidden_size": 8}', "how many layers"),
        (b'{"num_hidden_layers": 2, "layer_types": ["full_attention"]}', "every layer"),
        (b'{"num_hidden_layers": "61", "kv_lora_rank": 512}', "how many layers"),
    ],
)
def test_a_config_that_says_too_little(content: bytes, reason: str) -> None:
    assert reason in read_architecture(content).unknown


def test_a_checkpoint_may_ask_for_its_own_cache() -> None:
    scheme = {"quantization_config": {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}}
    inner = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 64}
    for config in ({**inner, **scheme}, {"text_config": {**inner, **scheme}}, {"text_config": inner, **scheme}):
        architecture = read_architecture(json.dumps(config).encode())
        assert cache_dtype("auto", architecture) == "fp8_e4m3"
        assert cache_dtype("bfloat16", architecture) == "bfloat16"
