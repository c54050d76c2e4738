"""A GGUF header says the same as a config.json: layers by kind, heads, and the context a model was made for."""

from __future__ import annotations

import random

import pytest

from console.analysis.capacity.architecture import HeadLayers, LatentLayers
from console.analysis.capacity.cache import Parallel, cache_dtype, cell_of
from console.analysis.capacity.config import read_architecture
from console.analysis.capacity.gguf import metadata
from console.analysis.capacity.limits import derived_limit
from tests.analysis.capacity.gguf_bytes import LATENT, PLAIN, SLIDING, header


@pytest.mark.parametrize(("order", "version"), [("<", 3), ("<", 2), ("<", 1), (">", 3)])
def test_heads_and_the_length_it_was_made_for(order: str, version: int) -> None:
    made = read_architecture(header(PLAIN, order=order, version=version))
    assert made.layers == (HeadLayers(32, 8, 128, 128),)
    limit = derived_limit(made, "llamacpp")
    assert limit is not None
    assert (limit.tokens, limit.how) == (65536, "context_length 65,536 of the GGUF header")
    cell = cell_of(made, Parallel(), cache_dtype("auto", made))
    assert cell is not None
    assert cell.growing == 32 * 8 * 256 * 2


def test_keys_and_values_may_be_of_two_types() -> None:
    cell = cell_of(read_architecture(header(PLAIN)), Parallel(), "q8_0", value_dtype="f16")
    assert cell is not None
    assert cell.growing == 32 * 8 * 128 * (34 / 32 + 2)
    assert "128 x 1.0625 + 128 x 2" in cell.how


def test_a_latent_is_kept_once_and_has_no_values() -> None:
    assert read_architecture(header(LATENT)).layers == (LatentLayers(61, 576),)


def test_layers_with_a_window() -> None:
    known = (HeadLayers(20, 1, 256, 256, 512), HeadLayers(4, 1, 256, 256))
    assert read_architecture(header(SLIDING)).layers == known, "every sixth keeps all"
    listed = SLIDING | {"gemma3.attention.sliding_window_pattern": [True, False] * 12}
    assert [one.count for one in read_architecture(header(listed)).layers] == [12, 12]
    other = {key.replace("gemma3", "other"): value for key, value in SLIDING.items()}
    made = read_architecture(header(other | {"general.architecture": "other"}))
    assert made.layers == (HeadLayers(24, 1, 256, 256),), "no pattern: nothing slides"


def test_heads_of_each_layer() -> None:
    listed = PLAIN | {"llama.block_count": 4, "llama.attention.head_count_kv": [8, 0, 8, 4]}
    assert read_architecture(header(listed)).layers == (HeadLayers(2, 8, 128, 128), HeadLayers(1, 4, 128, 128))


def test_the_first_bytes_are_enough_and_fewer_say_so() -> None:
    whole = header(PLAIN)
    assert read_architecture(whole[:400]).layers == (HeadLayers(32, 8, 128, 128),)
    cut = read_architecture(whole[:150])
    assert cut.positions == {"context_length": 65536}
    assert "does not say" in cut.unknown
    assert "names no architecture" in read_architecture(whole[:30]).unknown


@pytest.mark.parametrize("more", [{"llama.ssm.state_size": 128}, {"llama.wkv.head_size": 64}])
def test_recurrent_layers_are_not_known(more: dict[str, object]) -> None:
    assert "recurrent" in read_architecture(header(PLAIN | more)).unknown


def test_more_layers_than_any_model_has_are_not_believed() -> None:
    assert "how many layers" in read_architecture(header(PLAIN | {"llama.block_count": 4_000_000_000})).unknown


def test_garbage_raises_nothing() -> None:
    chance = random.Random(5)
    whole = bytearray(header(SLIDING))
    for _ in range(300):
        torn = bytearray(whole)
        for _ in range(4):
            torn[chance.randrange(4, len(torn))] = chance.randrange(256)
        read_architecture(bytes(torn[: chance.randrange(len(torn))]))
    assert metadata(b"GGUF" + b"\xff" * 64) == {}
