"""vLLM's averages and counters, llama.cpp's timings: the same windows out of other words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from console.analysis.diagnosis import from_llamacpp, from_vllm
from console.analysis.diagnosis import window as w
from console.analysis.diagnosis.curve import fit_windows
from console.analysis.diagnosis.from_counters import between
from console.analysis.diagnosis.passive import passive_of
from console.analysis.diagnosis.window import Passive, Said
from console.engines.metrics import Counters
from console.engines.registry import engine_named


def said(engine: str, texts: list[str], apart_s: float = 10.0) -> list[Said]:
    read = engine_named(engine).read_log
    return [Said(at * apart_s, line) for at, text in enumerate(texts) if (line := read(text)) is not None]


def counts(passive: Passive) -> dict[str, int]:
    return {one.reason: one.count for one in passive.excluded}


def average(rate: float, usage: float, running: int = 1, prompt: float = 0.0) -> str:
    return (
        f"(APIServer pid=2) INFO 08-01 11:00:10 [loggers.py:259] Engine 000: Avg prompt throughput: {prompt} tokens/s, "
        f"Avg generation throughput: {rate:.2f} tokens/s, Running: {running} reqs, Waiting: 0 reqs, "
        f"GPU KV cache usage: {usage:.3f}%, Prefix cache hit rate: 0.0%"
    )


DRAFTS = (
    "(APIServer pid=2) INFO 08-01 11:00:10 [metrics.py:100] SpecDecoding metrics: Mean acceptance length: 2.50, "
    "Accepted throughput: 31.50 tokens/s, Drafted throughput: 58.80 tokens/s, Accepted: 315 tokens, Drafted: 588 "
    "tokens, Per-position acceptance rate: 0.800, 0.500, 0.200, Avg Draft acceptance rate: 53.6%"
)
POOL = 100_000


def test_vllm_s_averages_give_the_step_time_back() -> None:
    contexts = [1000 + 700 * number for number in range(20)]
    texts = [average(1000.0 / (20.0 + 0.01 * context), context / POOL * 100) for context in contexts]
    curve, kept = fit_windows(from_vllm.windows(said("vllm", texts), pool_tokens=POOL))
    assert curve is not None
    assert curve.intercept_ms == pytest.approx(20.0, rel=0.02)
    assert curve.slope_ms == pytest.approx(0.01, rel=0.02)
    assert kept.speculative is False


def test_what_vllm_s_averages_do_not_tell_is_left_out() -> None:
    texts = [average(50, 2), average(50, 2.1), average(0, 0, 0), average(20, 1), average(50, 2, prompt=90.0),
             average(60, 3, 2), average(60, 3, 2)]  # fmt: skip
    passive = from_vllm.windows(said("vllm", texts), pool_tokens=POOL)
    assert counts(passive) == {w.FIRST_SEEN: 1, w.IDLE: 1, w.AFTER_IDLE: 1, w.PREFILL_MIXED: 1, w.BATCH_CHANGED: 1}
    assert len(passive.windows) == 2


def test_vllm_s_drafts_are_read_beside_the_average() -> None:
    texts = [average(50, 2), DRAFTS, average(50, 2.1), DRAFTS, average(50, 2.2), DRAFTS]
    lines = said("vllm", texts, apart_s=1.0)
    passive = from_vllm.windows(lines, pool_tokens=POOL)
    assert [one.accept_length for one in passive.windows] == [2.5, 2.5]
    assert passive.windows[0].step_s == pytest.approx(2.5 / 50)
    assert from_vllm.positions(lines) == (0.8, 0.5, 0.2)


def test_vllm_without_its_pool_has_no_contexts() -> None:
    passive = from_vllm.windows(said("vllm", [average(50, 2), average(50, 2.1)]), pool_tokens=None)
    assert not passive.windows
    assert "KV pool is not known" in passive.notes[0]


BEFORE = Counters(prompt_tokens=500, generated_tokens=1000, draft_steps=100, accepted_tokens=150, requests_running=2,
                  pool_usage=0.04)  # fmt: skip
AFTER = replace(BEFORE, generated_tokens=1500.0, draft_steps=300.0, accepted_tokens=450.0, pool_usage=0.05)


def test_two_looks_at_the_counters() -> None:
    one = between(BEFORE, AFTER, 10.0, POOL, 0.0)
    assert one is not None
    assert one.accept_length == pytest.approx(2.5)
    assert one.context_tokens == pytest.approx(0.045 * POOL / 2)
    assert one.step_s == pytest.approx(2 * 2.5 / 50.0)


def test_an_engine_that_counts_its_steps_is_believed_before_its_drafts() -> None:
    one = between(replace(BEFORE, engine_steps=0.0), replace(AFTER, engine_steps=125.0), 10.0, POOL, 0.0)
    assert one is not None
    assert one.accept_length == pytest.approx(500 / (125 * 2))


@pytest.mark.parametrize(
    "more", [{"prompt_tokens": 600.0}, {"requests_running": 3}, {"generated_tokens": 1000.0}, {"pool_usage": None}],
    ids=["prefilled", "another-batch", "nothing-generated", "no-usage"],
)  # fmt: skip
def test_between_two_looks_that_measure_something_else_is_nothing(more: dict[str, Any]) -> None:
    assert between(BEFORE, replace(AFTER, **more), 10.0, POOL, 0.0) is None


def timing(prompt: int, tokens: int, rate: float, length: float | None = None) -> list[str]:
    texts = [
        f"prompt eval time = {prompt:.2f} ms / {prompt} tokens (    1.00 ms per token,  1000.00 tokens per second)",
        f"eval time = {tokens / rate * 1000:.2f} ms / {tokens} tokens ({1 / rate:.3f}, {rate:.3f} tokens per second)",
        f"      total time = 1.00 ms / {prompt + tokens} tokens",
    ]
    if length is not None:
        texts.append(f"draft acceptance = 0.60000 (  120 accepted /   200 generated), mean len =  {length:.2f}")
    return texts


def test_llama_cpp_s_timings_give_the_step_time_back() -> None:
    texts: list[str] = []
    for prompt in (100, 1000, 2000, 4000, 6000, 8000, 10000, 12000):
        texts += timing(prompt, 200, 2.5e3 / (3.0 + 0.002 * (prompt + 100)), 2.5)
    curve, kept = fit_windows(from_llamacpp.windows(said("llamacpp", texts)))
    assert curve is not None
    assert curve.intercept_ms == pytest.approx(3.0, rel=0.02)
    assert curve.slope_ms == pytest.approx(0.002, rel=0.02)
    assert kept.speculative is True
    assert any("batch 1 is assumed" in note for note in kept.notes)


def test_llama_cpp_without_a_draft_commits_one_token_a_step() -> None:
    passive = from_llamacpp.windows(said("llamacpp", [*timing(100, 64, 50.0), *timing(100, 4, 50.0)]))
    assert passive.speculative is False
    assert [one.accept_length for one in passive.windows] == [1.0]
    assert counts(passive) == {from_llamacpp.SHORT: 1}


def test_the_command_line_says_what_a_step_can_commit() -> None:
    assert passive_of("sglang", [], ["--speculative-num-draft-tokens=8"], None).ceiling == 8.0
    config = '{"method": "eagle3", "num_speculative_tokens": 3}'
    assert passive_of("vllm", [], ["--speculative-config", config], None).ceiling == 4.0
    assert passive_of("vllm", [], ["--speculative-config", "{"], None).ceiling is None


def test_drafts_by_n_grams_count_only_some_steps() -> None:
    texts = [average(50, 2), DRAFTS, average(50, 2.1), DRAFTS]
    config = '{"method": "ngram", "num_speculative_tokens": 3}'
    notes = passive_of("vllm", said("vllm", texts, apart_s=1.0), ["-sc", config], POOL).seen.notes
    assert any("only steps that had a draft" in note for note in notes)


def test_an_engine_whose_log_tells_nothing_says_so() -> None:
    assert "tells nothing of its batches" in passive_of("tgi", [], [], None).seen.notes[0]
