"""A sweep against an engine whose line is known, with what must be said of a bad cell, a drift, a budget, a stop."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from console.errors import NotMeasuredError
from console.measure.prompt import Source
from console.measure.sweep import Layout, Planned, Sweep, line_of
from console.schema.cells import Cell
from tests.measure.made_up import MadeUpEngine, Truth, bench

CONTEXTS = (500, 4_000, 12_000, 30_000)


def sweep_of(
    truth: Truth, kept: list[Cell], *, layout: Layout | None = None, live: bool = False, **engine: Any
) -> Sweep:
    at = bench(MadeUpEngine(truth=truth, **engine), live=live)
    return Sweep(at, Source(at), layout or Layout(CONTEXTS), random.Random(4), kept.append)


async def test_the_line_is_the_truth() -> None:
    kept: list[Cell] = []
    sweep = sweep_of(Truth(intercept_ms=26.3, slope_ms=0.0201, step_noise=0.003, first_slow_s=3.0), kept)
    await sweep.run()
    line = line_of(sweep.cells, sweep.remeasured)
    assert line is not None
    assert line.fit.intercept_ms.value == pytest.approx(26.3, rel=0.01)
    assert line.fit.slope_ms_per_token.value == pytest.approx(0.0201, rel=0.01)
    assert line.alarms == ()
    assert [cell.context_tokens for cell in sweep.cells].count(12_000) == 2
    assert all(cell.state == "measured" and cell.flags == () for cell in kept)
    assert kept[-1] is sweep.remeasured


def test_the_smallest_context_comes_first_and_last_and_the_others_as_they_are_drawn() -> None:
    one, other = (Layout(CONTEXTS).order(random.Random(seed)) for seed in (1, 2))
    assert one != other
    for order in (one, other):
        assert (order[0], order[-1]) == (Planned(500, 1), Planned(500, 3))
        assert sorted(cell.context_tokens for cell in order[1:-1]) == sorted([*CONTEXTS, *CONTEXTS[1:]])


async def test_a_cell_measured_beside_somebody_else_is_tried_again_and_counted() -> None:
    kept: list[Cell] = []
    asked = iter([1])
    sweep = sweep_of(Truth(), kept, others=lambda _at, sent: next(asked, 0) if sent == 6 else 0)
    await sweep.run()
    assert sum(cell.refused_pairs for cell in kept) == 1
    assert all(cell.state == "measured" for cell in kept)


async def test_what_does_not_fit_the_budget_is_left_out_and_said() -> None:
    """A long answer at 30,000 tokens takes 256 / 3 steps of 1.5 s."""
    kept: list[Cell] = []
    sweep = sweep_of(Truth(slope_ms=0.05), kept, layout=Layout(CONTEXTS, budget_s=120.0))
    await sweep.run()
    left_out = {cell.asked_tokens for cell in kept if cell.reason == "over budget"}
    assert 30_000 in left_out
    assert sweep.bench.clock.monotonic() - sweep.began_s < 121
    assert all(cell.rate_tok_s is None for cell in kept if cell.reason)


async def test_an_answer_that_takes_longer_than_what_is_left_is_taken_back() -> None:
    """Nothing is known of the second context, and its prompt alone would take 15 minutes."""
    kept: list[Cell] = []
    truth = Truth(prefill_tok_s=33.0, intercept_ms=5.0)
    sweep = sweep_of(truth, kept, layout=Layout((20, 30_000), budget_s=60.0))
    await sweep.run()
    await asyncio.sleep(0)
    engine = sweep.bench.reader
    assert isinstance(engine, MadeUpEngine)
    assert len(engine.aborted) == 1
    assert {cell.reason for cell in kept if cell.asked_tokens == 30_000} == {"over budget"}
    assert {cell.state for cell in kept if cell.asked_tokens == 20} <= {"measured", "refused"}


async def test_a_prompt_that_cannot_be_computed_in_time_is_not_sent() -> None:
    kept: list[Cell] = []
    truth = Truth(prefill_tok_s=100.0, intercept_ms=5.0)
    sweep = sweep_of(truth, kept, layout=Layout((2_000, 30_000), budget_s=120.0))
    await sweep.run()
    engine = sweep.bench.reader
    assert isinstance(engine, MadeUpEngine)
    assert engine.aborted == []
    assert {(cell.asked_tokens, cell.reason) for cell in kept} == {(2_000, ""), (30_000, "over budget")}


async def test_on_a_live_target_large_cells_are_refused_before_they_are_sent() -> None:
    kept: list[Cell] = []
    sweep = sweep_of(Truth(), kept, live=True)
    await sweep.run()
    refused = [cell for cell in kept if cell.state == "refused"]
    assert {cell.asked_tokens for cell in refused} == {30_000}
    assert "of the pool of a live target: above 10% only with --on-live" in refused[0].reason
    assert max(cell.context_tokens or 0 for cell in kept) == 12_000


async def test_an_engine_that_dies_leaves_the_finished_cells() -> None:
    kept: list[Cell] = []
    sweep = sweep_of(Truth(dies_after=13), kept)
    with pytest.raises(NotMeasuredError):
        await sweep.run()
    assert [cell.state for cell in kept] == ["measured"] * 4 + ["partial"]
    assert len(sweep.cells) == 4


async def test_another_start_of_the_engine_ends_the_sweep() -> None:
    kept: list[Cell] = []
    sweep = sweep_of(Truth(), kept)
    engine = sweep.bench.reader
    assert isinstance(engine, MadeUpEngine)
    await sweep.bench.watch()
    engine.invocation = "9" * 32
    with pytest.raises(NotMeasuredError, match="started again under the measurement"):
        await sweep.run()


async def test_a_stop_marks_the_cell_it_came_into() -> None:
    kept: list[Cell] = []
    sweep = sweep_of(Truth(), kept)
    engine = sweep.bench.reader
    assert isinstance(engine, MadeUpEngine)
    task = asyncio.ensure_future(sweep.run())
    await engine.busy.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(cell.state, cell.reason) for cell in kept] == [("partial", "stopped")]


async def test_an_engine_that_refuses_every_cell_gives_no_line() -> None:
    kept: list[Cell] = []
    sweep = sweep_of(
        Truth(refuses="Input length (30000 tokens) exceeds the maximum allowed length (119994 tokens)."), kept
    )
    await sweep.run()
    assert {cell.state for cell in kept} == {"refused"}
    assert line_of(sweep.cells) is None
