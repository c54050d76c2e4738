"""The log tables of vLLM and llama.cpp: every row reads its own example, and none lets a secret through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.engines import llamacpp_log, vllm_log
from console.engines.base import LogLine
from console.engines.logtable import Row, row_for
from console.engines.progress import folded
from console.engines.registry import engine_named

VLLM, LLAMACPP = engine_named("vllm"), engine_named("llamacpp")
ROWS = [(table, row) for table in (vllm_log.TABLE, llamacpp_log.TABLE) for row in table]


@pytest.mark.parametrize(("table", "row"), ROWS, ids=[f"{row.kind} {row.example[:40]}" for _, row in ROWS])
def test_the_example_of_a_row_is_read_by_that_row(table: tuple[Row, ...], row: Row) -> None:
    found = row_for(table, row.example)
    assert found is not None
    assert found[0] is row
    assert (row.certainty > 0) == (row.kind == "failure")
    assert row.cause or row.kind not in ("failure", "pressure")


def read(engine_name: str, text: str) -> list[LogLine]:
    return [line for line in map(engine_named(engine_name).read_log, text.splitlines()) if line is not None]


def test_a_start_of_vllm_in_two_wordings() -> None:
    two = (
        "(EngineCore_DP0 pid=9) INFO 03-04 10:00:41 [kv_cache_utils.py:1] GPU KV cache size: 210,112 tokens\n"
        "(EngineCore_DP0 pid=9) INFO 03-04 10:00:41 [kv_cache_utils.py:2] Maximum concurrency for 200,000 tokens per "
        "request: 1.05x\n"
    )
    one = (
        "(EngineCore pid=9) INFO 03-04 10:00:41 [kv_cache_utils.py:1] GPU KV cache size: 210,112 tokens, Maximum "
        "concurrency for 200,000 tokens per request: 1.05x\n"
    )
    for pool in (one, two):
        lines = read(
            "vllm",
            "(APIServer pid=4) INFO 03-04 10:00:01 [utils.py:1] non-default args: {'max_model_len': 200000, 'api_key': "
            "['CANARY']}\n" + pool + "(APIServer pid=4) INFO:     Application startup complete.\n",
        )
        progress = folded(lines)
        assert (progress.context_length, progress.pool_tokens, progress.ready) == (200000, 210112, True)
        assert not any("CANARY" in line.text or "CANARY" in str(line.values) for line in lines)


def test_vllm_says_the_longest_window_that_fits() -> None:
    lines = read(
        "vllm",
        "(EngineCore_DP0 pid=9) ERROR 03-04 10:00:41 [core.py:1] ValueError: To serve at least one request with the "
        "model's max seq len (200000), (12.21 GiB KV cache is needed, which is larger than the available KV cache "
        "memory (8.5 GiB). Based on the available memory, the estimated maximum model length is 139264.\n"
        "(APIServer pid=4) RuntimeError: Engine core initialization failed. See root cause above.\n",
    )
    cause = VLLM.failure_cause(lines)
    assert cause is not None
    assert (cause.cause, cause.values["estimated_maximum"]) == ("context-longer-than-pool", 139264)


def test_ranks_of_vllm_are_values() -> None:
    line = VLLM.read_log(
        "(Worker_DP1_TP3 pid=9) INFO 03-04 10:00:41 [gpu_worker.py:1] Available KV cache memory: 8.50 GiB"
    )
    assert line is not None
    assert line.values.items() >= {"dp_rank": 1, "tp_rank": 3, "available_gib": 8.5}.items()


def test_a_start_of_llamacpp_whose_slots_share_the_window() -> None:
    lines = read(
        "llamacpp",
        "0.00.021.357 I cmn  common_param: common_params_print_info: verbosity = 3 (adjust with the `-lv N` CLI arg)\n"
        "0.00.028.328 I srv    load_model: loading model 'm.gguf'\n"
        "0.01.101.000 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 8192, kv_unified = 'false'\n"
        "0.01.102.000 I srv  llama_server: model loaded\n"
        "0.01.103.000 I srv  llama_server: listening on http://127.0.0.1:8080\n",
    )
    progress = folded(lines)
    assert (progress.context_length, progress.ready) == (8192, True)
    assert [line.kind for line in lines] == ["args", "weights", "limits", "listening", "ready"]


def test_eval_time_is_not_the_end_of_prompt_eval_time() -> None:
    kinds = [
        line.kind
        for line in read(
            "llamacpp",
            "prompt eval time =     100.00 ms /   500 tokens (    0.20 ms per token,  5000.00 tokens per second)\n"
            "       eval time =     500.00 ms /    20 tokens (   25.00 ms per token,    40.00 tokens per second)\n",
        )
    ]
    assert kinds == ["prefill", "decode"]


@given(st.text(max_size=300))
def test_no_line_makes_a_table_raise(text: str) -> None:
    for engine in (VLLM, LLAMACPP):
        engine.read_log(text)
