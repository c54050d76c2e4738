"""A decode cell against an engine whose truth is known, and everything that must not become a number."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest

from console.errors import NotMeasuredError
from console.measure.decode import DecodeCell, Shape
from console.schema.cells import Cell
from tests.measure.made_up import MadeUpEngine, Truth, bench, prompt


def true_rate(truth: Truth, cell: Cell) -> float:
    assert cell.at_tokens is not None
    return 1000 * truth.commits / (truth.intercept_ms + truth.slope_ms * cell.at_tokens)


async def cell_of(
    truth: Truth, *, shape: Shape | None = None, text_class: str = "prose", tokens: int | None = 1000, **engine: Any
) -> Cell:
    at = bench(MadeUpEngine(truth=truth, **engine))
    made = DecodeCell(at, await prompt(at, text_class, tokens), shape or Shape(), text_class, random.Random(3))
    return await made.measure()


async def test_rate_step_and_accept_length_are_the_truth() -> None:
    truth = Truth(step_noise=0.003)
    cell = await cell_of(truth)
    assert cell.state == "measured"
    assert cell.rate_tok_s == pytest.approx(true_rate(truth, cell), rel=0.01)
    assert cell.accept_length == pytest.approx(3.0, rel=0.01)
    assert cell.step_ms == pytest.approx(20.0 + 0.002 * (cell.at_tokens or 0), rel=0.005)
    assert (cell.context_tokens, cell.accept_source, cell.agree) == (1000, "per-request", True)
    assert {one.method for one in cell.estimates if one.rate_tok_s} == {"server", "client", "stream"}
    assert cell.flags == ()


async def test_the_first_request_may_take_three_seconds_more() -> None:
    truth = Truth(first_slow_s=3.0, step_noise=0.003)
    cell = await cell_of(truth)
    assert cell.rate_tok_s == pytest.approx(true_rate(truth, cell), rel=0.003)
    assert cell.naive_tok_s is not None
    assert cell.naive_tok_s < 0.99 * true_rate(truth, cell)


async def test_answers_that_end_early_are_refused_with_their_pair_and_counted() -> None:
    truth = Truth(first_slow_s=3.0, early_stops=0.2, step_noise=0.003)
    cell = await cell_of(truth, seed=5)
    assert cell.rate_tok_s == pytest.approx(true_rate(truth, cell), rel=0.003)
    assert cell.refused_pairs == cell.reasons["ended early"] > 0
    kept = [arm for arm in cell.arms if not arm.refused]
    assert all(arm.completion_tokens == arm.output_tokens for arm in kept)
    assert len(kept) == 2 * cell.pairs


async def test_an_engine_that_always_ends_early_gives_no_number() -> None:
    cell = await cell_of(Truth(early_stops=1.0))
    assert (cell.state, cell.rate_tok_s) == ("refused", None)
    assert "ended early" in cell.reason


async def test_without_token_counts_there_is_no_number() -> None:
    cell = await cell_of(Truth(says_tokens=False))
    assert (cell.state, cell.rate_tok_s) == ("refused", None)
    assert "no token counts" in cell.reason


async def test_what_the_engine_refuses_is_quoted() -> None:
    sentence = "Input length (150000 tokens) exceeds the maximum allowed length (119994 tokens)."
    cell = await cell_of(Truth(refuses=sentence))
    assert (cell.state, cell.reason) == ("refused", sentence)


async def test_somebody_else_on_the_server_all_the_time() -> None:
    cell = await cell_of(Truth(), others=lambda _at, _sent: 2)
    assert (cell.state, cell.rate_tok_s) == ("refused", None)
    assert cell.reason == "server busy: 2 requests running of others"


async def test_a_pair_under_foreign_traffic_is_refused() -> None:
    """Somebody comes while the second pair is measured and is gone before the third."""
    asked = iter([1])
    cell = await cell_of(Truth(), others=lambda _at, sent: next(asked, 0) if sent == 8 else 0)
    assert cell.reasons == {"server busy": 1}
    assert cell.state == "measured"


async def test_without_a_cache_cold_prefill_is_in_both_arms() -> None:
    truth = Truth(caches=False)
    cell = await cell_of(truth)
    assert cell.rate_tok_s == pytest.approx(true_rate(truth, cell), rel=0.003)


async def test_a_buffered_path_gives_no_stream_rate_and_leaves_the_others_right() -> None:
    truth = Truth(buffered=True)
    cell = await cell_of(truth)
    stream = next(one for one in cell.estimates if one.method == "stream")
    assert stream.rate_tok_s is None
    assert stream.unusable.startswith("buffered")
    assert cell.rate_tok_s == pytest.approx(true_rate(truth, cell), rel=0.003)


async def test_without_times_of_the_engine_ours_count_and_it_says_so() -> None:
    truth = Truth(says_time=False, path_s=0.15, jitter_s=0.02)
    cell = await cell_of(truth)
    assert cell.rate_tok_s == pytest.approx(true_rate(truth, cell), rel=0.02)
    assert "timed from here only" in cell.flags


async def test_no_speculation_commits_one_token_a_step() -> None:
    truth = Truth(commits=1.0, speculates=False)
    cell = await cell_of(truth)
    assert (cell.accept_length, cell.accept_source) == (1.0, "no-speculation")
    assert cell.step_ms == pytest.approx(20.0 + 0.002 * (cell.at_tokens or 0), rel=0.005)


async def test_a_draft_whose_steps_nobody_counts_has_no_accept_length() -> None:
    cell = await cell_of(Truth(says_steps=False))
    assert cell.rate_tok_s is not None
    assert cell.accept_length is None
    assert "accept_length unknown" in cell.flags


async def test_long_answers_stay_within_the_texts_own_end() -> None:
    cell = await cell_of(Truth(natural_end=400))
    assert (cell.natural_end, cell.long_tokens) == (400, 399)
    assert cell.flags == ()


async def test_past_the_texts_own_end_is_said() -> None:
    cell = await cell_of(Truth(natural_end=60))
    assert "past the text's own end" in cell.flags


async def test_a_text_that_goes_round_in_circles_is_said() -> None:
    cell = await cell_of(Truth(loops=True))
    assert "degenerate text" in cell.flags


async def test_an_engine_that_dies_leaves_what_was_measured() -> None:
    at = bench(MadeUpEngine(truth=Truth(dies_after=12)))
    made = DecodeCell(at, await prompt(at), Shape(), "prose", random.Random(3))
    with pytest.raises(NotMeasuredError, match="does not answer"):
        await made.measure()
    left = made.cell("partial", "the engine is gone")
    assert (left.state, left.pairs) == ("partial", 3)
    assert left.rate_tok_s is not None


async def test_a_stop_takes_our_request_back_and_no_other() -> None:
    engine = MadeUpEngine(truth=Truth())
    at = bench(engine)
    made = DecodeCell(at, await prompt(at), Shape(), "prose", random.Random(3))
    task = asyncio.ensure_future(made.measure())
    await engine.busy.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.01)
    assert engine.aborted == [f"console-run-01-{at.sent:06d}"]


async def test_nothing_that_generates_is_polled() -> None:
    engine = MadeUpEngine(truth=Truth())
    at = bench(engine)
    await DecodeCell(at, await prompt(at), Shape(samples=5), "prose", random.Random(3)).measure()
    assert {path for path in engine.paths if not path.startswith("/generate")} == {
        "/tokenize?console", "/v1/models", "/v1/loads", "/metrics",
    }  # fmt: skip


async def test_the_first_cell_asks_until_answers_are_steady_and_the_next_ones_do_not() -> None:
    at = bench(MadeUpEngine(truth=Truth(step_noise=0.003)))
    pilots = []
    for number in range(2):
        made = DecodeCell(at, await prompt(at, tokens=1000 + number), Shape(), "prose", random.Random(3))
        cell = await made.measure()
        pilots.append(sum(arm.refused == "pilot" for arm in cell.arms))
        assert cell.warm_up == (2 if number == 0 else None)
    assert pilots == [5, 3]


async def test_an_engine_that_never_gets_steady_is_said_to_be_so() -> None:
    class Slower(MadeUpEngine):
        """Each answer finds a clock 4 % lower."""

        async def _replied(self, request: Any, on_part: Any) -> Any:
            self.truth = replace(self.truth, overhead_s=self.truth.overhead_s * 1.2)
            return await super()._replied(request, on_part)

    at = bench(Slower(truth=Truth(slope_ms=0.0)))
    cell = await DecodeCell(at, await prompt(at), Shape(samples=1), "prose", random.Random(3)).measure()
    assert cell.warm_up is not None
    assert cell.warm_up <= 10


async def test_answers_that_slow_down_on_their_way_are_not_on_one_line() -> None:
    class Chunked(MadeUpEngine):
        """From 300 tokens on, every answer waits once for a second."""

        async def _generate(self, request: Any, on_part: Any) -> Any:
            tokens = request.json["sampling_params"]["max_new_tokens"]
            before, self.truth = self.truth, replace(self.truth, overhead_s=1.1 if tokens > 300 else 0.1)
            try:
                return await super()._generate(request, on_part)
            finally:
                self.truth = before

    truth = Truth(step_noise=0.001)
    for engine, marks in ((MadeUpEngine(truth=truth), 0), (Chunked(truth=truth), 1)):
        at = bench(engine)
        cell = await DecodeCell(at, await prompt(at), Shape(), "prose", random.Random(3)).measure()
        assert sum(flag.startswith("not linear") for flag in cell.flags) == marks, cell.flags
