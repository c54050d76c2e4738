"""KV pool arithmetic of the simulated GPUs."""

from __future__ import annotations

import pytest

from console.lab.simulator.memory import Limits, plan_memory
from console.lab.simulator.options import Options


@pytest.mark.parametrize(
    ("mem_fraction", "dtype", "tokens"),
    [
        (0.85, "auto", 101_134),
        (0.92, "auto", 203_386),
        (0.92, "bf16", 203_386),
        (0.85, "fp8_e4m3", 202_268),
        (0.92, "fp8_e5m2", 406_772),
    ],
)
def test_the_pool_holds_what_the_memory_share_leaves(mem_fraction: float, dtype: str, tokens: int) -> None:
    assert plan_memory(Options(), mem_fraction, dtype, None).pool_tokens == tokens


def test_a_token_costs_the_latent_of_all_layers() -> None:
    assert plan_memory(Options(), 0.85, "auto", None).bytes_per_token == 70_272


def test_a_cap_lowers_the_pool_and_never_raises_it() -> None:
    assert plan_memory(Options(), 0.85, "auto", 50_000).pool_tokens == 50_000
    assert plan_memory(Options(), 0.85, "auto", 500_000).pool_tokens == 101_134


def test_too_small_a_share_leaves_no_pool() -> None:
    assert plan_memory(Options(), 0.7, "auto", None).pool_tokens <= 0


def test_a_request_is_limited_by_the_pool_where_that_is_smaller_than_the_context() -> None:
    assert Limits(context=200_000, pool=101_134).max_input == 101_128
    assert Limits(context=32_768, pool=101_134).max_input == 32_762
