"""What moves the pool beside its share of memory: weights over other GPUs, drafts, window layers, states."""

from __future__ import annotations

from typing import Any

import pytest

from console.analysis.capacity.cache import Parallel, cell_of
from console.analysis.capacity.calibrate import calibrate
from console.analysis.capacity.judge import judge
from console.analysis.capacity.setup import with_settings
from console.analysis.capacity.situation import situation_of
from console.engines.registry import engine_named
from console.facts.journal import JournalLine
from console.facts.memory import memory_of
from console.schema.capacity import Judgement
from console.schema.facts import Facts, MemoryLog, PoolLine
from tests.analysis.capacity.test_cache import model
from tests.analysis.capacity.test_judge import DRAFTING, LINE, ask, config, seen

GIB = 1024**3
VLLM = ("vllm", "serve", "/models/k", "--max-model-len", "32768", "--gpu-memory-utilization", "0.9")


def on(words: tuple[str, ...], **flags: str) -> tuple[str, ...]:
    return (*words, *(part for name, value in flags.items() for part in (f"--{name.replace('_', '-')}", value)))


def log_of(tokens: int, each: float, **more: Any) -> MemoryLog:
    return MemoryLog(pools=(PoolLine(tokens=tokens, gib=round(tokens * each / GIB, 4)),), **more)


def small(**more: Any) -> Facts:
    """A model of 30 GiB a GPU at TP4, on eight GPUs: both halves and doubles of TP have room."""
    words = tuple("4" if word == "8" else word for word in LINE)
    return seen(words=words, log=log_of(101_134, 70_272, weights_gib=30.0, free_gib=20.0), **more)


def test_weights_over_more_gpus_make_room_for_the_pool() -> None:
    said = ask(small(), context_length="200000", tensor_parallel="8")
    # 15 GiB of weights less on each GPU hold 229,196 tokens more; a latent stands whole on every rank as before.
    assert said.pool_tokens == pytest.approx(101_134 + 15 * GIB / 70_272, abs=2)
    assert said.verdict == "serves"
    assert "weights 30.00 -> 15.00 GiB on a GPU (over 4 -> 8 GPUs)" in said.lines
    assert "weights split evenly, and everything else takes what it takes now" in said.assumed
    assert ask(small(), context_length="330000", tensor_parallel="8").verdict == "beyond the model"
    near = ask(small(), context_length="262144", tensor_parallel="8", mem_fraction="0.82")
    assert (near.verdict, near.warnings) == (
        "serves",
        ("pool and window are within 10%: it may come out on either side",),
    )


def test_weights_over_fewer_gpus_do_not_fit() -> None:
    said = ask(small(), context_length="100000", tensor_parallel="2")
    assert said.verdict == "will not start"
    assert "weights 30.00 -> 60.00 GiB" in " ".join(said.lines)


def test_stages_of_a_pipeline_halve_the_layers_of_a_gpu() -> None:
    said = ask(small(), context_length="200000", pipeline_parallel="2")
    assert said.cell_bytes == 31 * 1152
    assert said.pool_tokens == pytest.approx((101_134 * 70_272 + 15 * GIB) / (31 * 1152), abs=2)


def test_a_draft_that_leaves_gives_its_cache_back() -> None:
    models = (config("model", "kimi-k2.6"), config("draft", "kimi-k2.6-dflash"))
    weighed = (models[0], models[1].model_copy(update={"weights_bytes": 8 * GIB}))
    without = {"speculative_algorithm": "NGRAM", "context_length": "100000"}
    kept = ask(seen(*models, words=DRAFTING), **without)
    assert kept.pool_tokens == round(101_134 * 73_344 / 70_272)
    assert any(text.startswith("at least") for text in kept.assumed)
    given = ask(seen(*weighed, words=DRAFTING), **without)
    assert given.pool_tokens == pytest.approx((101_134 * 73_344 + GIB) / 70_272, abs=2)
    other = ask(seen(*models, words=DRAFTING), context_length="100000", draft_model_path="/models/other")
    assert other.verdict == "unknown"


def test_the_share_of_window_layers_is_a_flag() -> None:
    cell = cell_of(model("gpt-oss-120b"), Parallel(tensor=8), "bfloat16")
    assert cell is not None
    full, windowed = cell.growing, cell.windowed
    for words, share in ((LINE, 0.8), (on(LINE, swa_full_tokens_ratio="0.25"), 0.25)):
        fitting = log_of(500_000, full + share * windowed)
        what = seen(config("model", "gpt-oss-120b"), words=words, pool=500_000, log=fitting)
        said = calibrate(situation_of(what, engine_named("sglang")))
        assert said.agrees is True, said.lines
    off = seen(config("model", "gpt-oss-120b"), pool=500_000, log=log_of(500_000, full + 0.5 * windowed))
    said = calibrate(situation_of(off, engine_named("sglang")))
    assert "window layers keep 0.50 of the others' tokens, not 0.8" in said.lines[-1]


def test_states_of_linear_layers_take_their_part_of_more_memory() -> None:
    hybrid = config("model", "qwen3-next-80b-a3b")
    cell = cell_of(model("qwen3-next-80b-a3b"), Parallel(tensor=8), "bfloat16")
    assert cell is not None
    what = seen(hybrid, pool=400_000, log=log_of(400_000, cell.growing))
    more = 0.05 * 97_894 / 1024
    said = ask(what, context_length="200000", mem_fraction="0.90")
    assert said.pool_tokens == pytest.approx(400_000 + more / 1.9 * GIB / cell.growing, rel=1e-4)
    assert any("the rest for states of linear layers" in line for line in said.lines)
    fixed = seen(hybrid, words=on(LINE, max_mamba_cache_size="64"), pool=400_000, log=log_of(400_000, cell.growing))
    all_of_it = ask(fixed, context_length="200000", mem_fraction="0.90")
    assert all_of_it.pool_tokens == pytest.approx(400_000 + more * GIB / cell.growing, rel=1e-4)


def vllm_log(tokens: int, gib: float, *, one_line: bool = True) -> MemoryLog:
    head = "(Worker_TP0 pid=7) INFO 11-06 10:51:4{} [worker.py:90] "
    texts = [
        head.format(1) + "Model loading took 71.20 GiB memory and 60.1 seconds",
        head.replace("TP0", "TP1").format(2) + f"Available KV cache memory: {gib + 1:.2f} GiB",
        head.format(3) + f"Available KV cache memory: {gib:.2f} GiB",
        head.format(4) + f"GPU KV cache size: {tokens:,} tokens"
        + (", Maximum concurrency for 32,768 tokens per request: 3.08x" if one_line else ""),
    ]  # fmt: skip
    read = engine_named("vllm").read_log
    return memory_of([JournalLine(text, 0.0, "", "", read(text)) for text in texts])


def ask_vllm(facts: Facts, **settings: str) -> Judgement:
    tables = engine_named("vllm")
    what = situation_of(facts, tables)
    return judge(what, with_settings(what.words, tables, settings), what.environment, tables)


@pytest.mark.parametrize("one_line", [True, False], ids=["0.33", "0.19"])
def test_vllm_s_lines_calibrate_the_bytes(one_line: bool) -> None:
    words = (*VLLM, "--tensor-parallel-size", "8")
    log = vllm_log(101_120, 101_120 * 70_272 / GIB, one_line=one_line)
    assert (log.weights_gib, log.pools) == (71.2, (PoolLine(tokens=101_120, gib=6.62),))
    what = seen(words=words, pool=101_120, log=log, version="0.33.0")
    said = calibrate(situation_of(what, engine_named("vllm")))
    assert said.agrees is True
    more = ask_vllm(what, context_length="100000", mem_fraction="0.95")
    assert more.pool_tokens == pytest.approx(101_120 + 0.05 * 97_894 / 1024 * GIB / 70_272, abs=2)


def test_vllm_logs_a_split_pool_in_tokens_of_all_ranks() -> None:
    words = (*VLLM, "--tensor-parallel-size", "8", "--decode-context-parallel-size", "8")
    log = vllm_log(808_960, 808_960 * 8_784 / GIB)
    what = situation_of(seen(words=words, pool=101_120, log=log, version="0.33.0"), engine_named("vllm"))
    assert what.pool_tokens == 808_960
    assert calibrate(what).agrees is True


def test_vllm_s_window_layers_give_back_what_they_no_longer_see() -> None:
    cell = cell_of(model("gpt-oss-120b"), Parallel(), "bfloat16")
    assert cell is not None
    log = vllm_log(100_000, 100_000 * (cell.growing + cell.windowed) / GIB)
    what = seen(config("model", "gpt-oss-120b"), words=VLLM, pool=100_000, log=log, version="0.33.0")
    assert calibrate(situation_of(what, engine_named("vllm"))).agrees is True
    said = ask_vllm(what, context_length="131072")
    assert said.verdict == "serves"
    assert "one request may take 199,872 tokens" in said.sentence
