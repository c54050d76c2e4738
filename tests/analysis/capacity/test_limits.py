"""The limit as each engine derives it, and what a release refuses before it loads anything."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.analysis.capacity.config import read_architecture
from console.analysis.capacity.limits import dcp_refused, derived_limit, override_is_set, spelling_refused
from tests.analysis.capacity.test_cache import model


def tokens(engine: str, **config: Any) -> int | None:
    limit = derived_limit(read_architecture(json.dumps(config).encode()), engine)
    return limit.tokens if limit else None


@pytest.mark.parametrize(
    ("name", "sglang", "vllm"),
    [
        ("kimi-k2.6", 262_144, 262_144),
        ("deepseek-v3", 163_840, 163_840),
        ("llama-3.1-8b", 131_072, 131_072),
        ("gpt-oss-120b", 131_072, 131_072),
        ("kimi-linear-48b-a3b", 1_048_576, 1_048_576),
        ("gpt2", None, 1_024),
        ("gemma-3-27b", 1_048_576, 1_048_576),
    ],
)
def test_models(name: str, sglang: int | None, vllm: int) -> None:
    for engine, expected in (("sglang", sglang), ("vllm", vllm)):
        limit = derived_limit(model(name), engine)
        assert (limit.tokens if limit else None) == expected, engine


def test_a_factor_counts_only_without_the_original_length() -> None:
    yarn = {"type": "yarn", "factor": 4.0}
    assert tokens("sglang", max_position_embeddings=32768, rope_scaling=yarn) == 131072
    known = yarn | {"original_max_position_embeddings": 32768}
    assert tokens("sglang", max_position_embeddings=32768, rope_scaling=known) == 32768
    assert tokens("vllm", max_position_embeddings=32768, rope_scaling=known) == 131072


def test_the_name_of_transformers_5_is_read_too() -> None:
    linear = {"rope_type": "linear", "factor": 2.0}
    assert tokens("sglang", max_position_embeddings=4096, rope_parameters=linear) == 8192
    assert tokens("sglang", max_position_embeddings=4096, rope_parameters={"rope_type": "default"}) == 4096


def test_sglang_takes_the_first_key_and_vllm_the_smallest() -> None:
    both = {"max_position_embeddings": 8192, "model_max_length": 4096, "seq_length": 16384}
    assert tokens("sglang", **both) == 16384
    assert tokens("vllm", **both) == 4096
    assert tokens("sglang") is None


@pytest.mark.parametrize(
    ("value", "version", "expected"),
    [
        ("1", "0.5.10", True),
        ("true", "0.5.10", True),
        ("0", "0.4.6", False),
        (None, "0.5.10", False),
        (None, "0.4.6.post5", True),
        (None, None, False),
    ],
)
def test_the_override(value: str | None, version: str | None, expected: bool) -> None:
    assert override_is_set(value, "sglang", version) is expected


def test_suffixes_came_with_0_5_10() -> None:
    assert "whole numbers only" in spelling_refused("200k", "sglang", "0.5.9")
    assert spelling_refused("200k", "sglang", "0.5.10.post1") == ""
    assert spelling_refused("200000", "sglang", "0.5.9") == ""
    assert spelling_refused("200k", "sglang", None) == ""
    assert spelling_refused("200k", "vllm", "0.19.1") == ""


@pytest.mark.parametrize(
    ("ways", "version", "speculates", "said"),
    [
        (1, "0.5.10", True, ""),
        (3, "0.5.18", False, "does not divide"),
        (8, "0.5.10.post1", False, "it came with 0.5.15"),
        (8, "0.5.16", True, "with speculative decoding"),
        (8, "0.5.16", False, ""),
        (8, "0.5.18", True, ""),
    ],
)
def test_decode_context_parallelism(ways: int, version: str, speculates: bool, said: str) -> None:
    found = dcp_refused(ways, 8, "sglang", version, speculates=speculates)
    assert said in found
    assert bool(found) == bool(said)


@pytest.mark.parametrize(("ways", "tensor", "heads", "refused"), [(2, 8, 4, False), (4, 8, 4, True), (2, 8, 8, True)])
def test_vllm_splits_among_copies_of_a_head(ways: int, tensor: int, heads: int, refused: bool) -> None:
    assert bool(dcp_refused(ways, tensor, "vllm", "0.33.0", speculates=False, kv_heads=heads)) is refused
    assert not dcp_refused(tensor, tensor, "vllm", "0.33.0", speculates=False), "a latent is on every rank"
