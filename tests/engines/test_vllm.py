"""How vLLM spells settings, and what its answers mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.engines.base import Reply
from console.engines.registry import engine_named

VLLM = engine_named("vllm")
METRICS = """# HELP vllm:num_requests_running Number of requests
vllm:num_requests_running{engine="0",model_name="m"} 1.0
vllm:num_requests_running{engine="1",model_name="m"} 2.0
vllm:num_requests_waiting{engine="0"} 0.0
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.5
vllm:generation_tokens_total{engine="0"} 300.0
vllm:spec_decode_num_drafts_total{engine="0"} 100.0
vllm:spec_decode_num_draft_tokens_total{engine="0"} 300.0
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 190.0
vllm:cache_config_info{block_size="16",cache_dtype="auto",num_gpu_blocks="13000"} 1.0
"""


def ok(body: Any) -> Reply:
    return Reply(200, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("text", "value"), [("200000", 200000), ("200k", 200000), ("200K", 204800), ("25.6k", 25600), ("auto", -1)]
)
def test_a_window_has_decimal_and_binary_suffixes(text: str, value: int) -> None:
    assert VLLM.parse_value("context_length", text) == value


@pytest.mark.parametrize("text", ["many", "2.5K", "200Ki", ""])
def test_what_vllm_cannot_read_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="context_length"):
        VLLM.parse_value("context_length", text)


@pytest.mark.parametrize(
    ("word", "flag"),
    [
        ("--max-model-len", "--max-model-len"),
        ("--max_model_len", "--max-model-len"),
        ("--max-model", "--max-model-len"),
        ("-tp", "--tensor-parallel-size"),
        ("-dpl", "--data-parallel-size-local"),
        ("--device_memory_utilization", "--device-memory-utilization"),
        ("--max-num-s", None),
        ("--max-num", None),
        ("--speculative-config.method", None),
        ("-c", None),
        ("--speculative-ddtree-budget", None),
    ],
)
def test_underscores_and_abbreviations_mean_the_flag(word: str, flag: str | None) -> None:
    assert VLLM.resolve_flag(word) == flag


def test_serving_says_window_pool_and_requests() -> None:
    serving = VLLM.read_serving(
        {
            "/v1/models": ok({"data": [{"id": "m", "max_model_len": 200_000}]}),
            "/version": ok({"version": "0.19.1"}),
            "/metrics": Reply(200, METRICS.encode()),
        }
    )
    assert (serving.model, serving.version, serving.context_length) == ("m", "0.19.1", 200_000)
    assert (serving.pool_tokens, serving.largest_request_tokens) == (208_000, 199_999)
    assert (serving.running_requests, serving.queued_requests) == (3, 0)


def test_blocks_that_cannot_hold_one_request_are_no_pool() -> None:
    card = ok({"data": [{"id": "m", "max_model_len": 300_000}]})
    serving = VLLM.read_serving({"/v1/models": card, "/metrics": Reply(200, METRICS.encode())})
    assert serving.pool_tokens is None


def test_a_refused_key_is_seen() -> None:
    assert VLLM.read_serving({"/v1/models": Reply(401, b'{"error":"Unauthorized"}')}).refused


def test_counters_are_summed_over_engines() -> None:
    counters = VLLM.read_counters(Reply(200, METRICS.encode()))
    assert (counters.generated_tokens, counters.draft_steps, counters.accepted_tokens) == (300, 100, 190)
    assert (counters.pool_usage, counters.accept_length) == (0.5, 2.9)
    assert VLLM.read_counters(Reply(404)).error == "HTTP 404"


def test_a_generation_and_a_refused_one() -> None:
    usage = {"prompt_tokens": 64, "completion_tokens": 8, "prompt_tokens_details": {"cached_tokens": 16}}
    found = VLLM.read_generation(ok({"choices": [{"finish_reason": "length"}], "usage": usage}))
    assert (found.prompt_tokens, found.completion_tokens, found.cached_tokens, found.finish_reason) == (
        64,
        8,
        16,
        "length",
    )
    message = "This model's maximum context length is 4096 tokens."
    assert VLLM.read_generation(Reply(400, json.dumps({"error": {"message": message}}).encode())).error == message


def test_the_probe_is_of_the_size_asked_for() -> None:
    request = VLLM.probe(100, 8, "a")
    assert request.json is not None
    assert len(request.json["prompt"]) == 100
    assert request.json["max_tokens"] == request.json["min_tokens"] == 8
    assert request.json["prompt"] != (VLLM.probe(100, 8, "b").json or {})["prompt"]


def test_auto_agrees_with_any_window() -> None:
    assert VLLM.agrees("context_length", "auto", "131072")
    assert VLLM.agrees("context_length", "128k", "128000")
    assert not VLLM.agrees("context_length", "131072", "128000")


@given(st.binary(max_size=200))
def test_no_body_makes_it_raise(body: bytes) -> None:
    reply = Reply(200, body)
    VLLM.read_serving({"/v1/models": reply, "/metrics": reply, "/version": reply})
    VLLM.read_generation(reply)
    VLLM.read_counters(reply)
