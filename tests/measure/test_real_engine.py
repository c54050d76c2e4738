"""Decode cells of a real engine: llama.cpp's server on the CPU with a model of random weights.

`make engine` brings the server. Without it this is skipped, unless REAL_ENGINE=required says that it must be there. How
near the rates are to the engine's own is bench/real_engine.py's: it needs a machine that does nothing else.
"""

from __future__ import annotations

import importlib.util
import os
import random
from collections.abc import Iterator

import pytest

from bench.real_engine import Tapped, bench_of, llama_server, measure
from console.measure.decode import DecodeCell, Shape
from console.measure.load import LoadLevel, Wish
from console.measure.prompt import Prompt, Source

SHAPE = Shape(output_tokens=288, samples=5)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    if importlib.util.find_spec("xllamacpp") is None and not os.environ.get("CONSOLE_LLAMA_SERVER"):
        if os.environ.get("REAL_ENGINE") == "required":
            pytest.fail("REAL_ENGINE=required, but there is no llama.cpp server: make engine", pytrace=False)
        pytest.skip("no llama.cpp server: make engine")
    with llama_server(tmp_path_factory.mktemp("engine")) as serving:
        yield serving


@pytest.mark.parametrize("context", [64, 256, 512])
async def test_a_cell_counts_and_times_as_the_engine_does(port: int, context: int) -> None:
    found = await measure(port, context, f"t{context}", SHAPE)
    cell = found.cell
    assert (cell.state, cell.context_tokens, cell.pairs, cell.refused_pairs) == ("measured", context, 5, 0)
    assert (cell.accept_length, cell.accept_source) == (1.0, "no-speculation")
    kept = [arm for arm in cell.arms if not arm.refused]
    assert {arm.completion_tokens for arm in kept} == {32, 288}
    assert {arm.cached_tokens for arm in kept} == {context - 1}
    assert all(arm.server_s is not None and 0 < arm.server_s <= arm.client_s for arm in kept)
    assert {one.method for one in cell.estimates} == {"server", "client", "stream"}
    # Its own rate counts from the first token, ours from the 32nd, and each token takes longer than the one before.
    assert (cell.rate_low or 0) * 0.97 <= found.own <= (cell.rate_high or float("inf")) * 1.03


async def test_what_does_not_fit_its_window_is_refused_in_its_own_words(port: int) -> None:
    reader = Tapped(port)
    try:
        prompt = Prompt("prose", tuple(range(300, 5300)) * 4, 20_000, 20_000, "")
        cell = await DecodeCell(bench_of(reader, "large"), prompt, SHAPE, "large", random.Random(1)).measure()
    finally:
        await reader.aclose()
    assert (cell.state, cell.rate_tok_s) == ("refused", None)
    assert "exceeds the available context size" in cell.reason


async def test_a_stream_has_its_first_token_long_before_its_last(port: int) -> None:
    reader = Tapped(port)
    try:
        bench = bench_of(reader, "load")
        sent = (await Source(bench).prompt("prose", 256, nonce="load")).sent
        assert not isinstance(sent, str)
        level = LoadLevel(bench, Wish(1, 4, 256), lambda: sent, random.Random(1))
        await level.measure()
    finally:
        await reader.aclose()
    assert [one.completion_tokens for one in level.sent] == [256] * 4
    assert all(one.first_s and one.ended_s and one.sent_s < one.first_s < one.ended_s for one in level.sent)
    assert sum(tokens for _, tokens in level.arrivals) == 4 * 256
