"""What SGLang is asked, and what its answers mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.engines.base import Reply
from console.engines.registry import engine_named

SGLANG = engine_named("sglang")


def ok(body: Any) -> Reply:
    return Reply(200, json.dumps(body).encode())


MODELS = ok(
    {"object": "list", "data": [{"id": "large", "root": "large", "owned_by": "sglang", "max_model_len": 200_000}]}
)
NOT_FOUND = Reply(404, b'{"detail":"Not Found"}')
INFO: dict[str, Any] = {
    "model_path": "/models/large",
    "context_length": 200_000,
    "mem_fraction_static": 0.92,
    "kv_cache_dtype": "auto",
    "tp_size": 8,
    "trust_remote_code": True,
    "quantization": None,
    "api_key": "CANARY-one",
    "admin_api_key": "CANARY-two",
    "launch_command": "sglang serve --api-key CANARY-three",
    "max_total_num_tokens": 203_386,
    "max_req_input_len": 199_994,
    "internal_states": [{"memory_usage": {"token_capacity": 203_386}, "api_key": "CANARY-four"}],
    "version": "0.5.10.post1",
}


def test_nothing_that_is_asked_generates() -> None:
    requests = SGLANG.status_requests()
    assert {request.method for request in requests} == {"GET"}
    assert not [request.path for request in requests if "health" in request.path or "generate" in request.path]


def test_the_old_name_is_asked_only_where_the_new_one_is_unknown() -> None:
    old = next(request for request in SGLANG.status_requests() if request.path == "/get_server_info")
    assert old.unless == "/server_info"


def test_serving_of_a_newer_release() -> None:
    loads = ok(
        {"loads": [{"num_running_reqs": 2, "num_waiting_reqs": 1}, {"num_running_reqs": 3, "num_waiting_reqs": 0}]}
    )
    serving = SGLANG.read_serving({"/v1/models": MODELS, "/server_info": ok(INFO), "/v1/loads": loads})
    assert serving.model == "large"
    assert serving.version == "0.5.10.post1"
    assert serving.context_length == 200_000
    assert serving.pool_tokens == 203_386
    assert serving.largest_request_tokens == 199_993  # a prompt of max_req_input_len itself is refused
    assert (serving.running_requests, serving.queued_requests) == (5, 1)
    assert serving.settings == {
        "model_path": "/models/large",
        "context_length": "200000",
        "mem_fraction": "0.92",
        "kv_cache_dtype": "auto",
        "tensor_parallel": "8",
        "trust_remote_code": "true",
    }
    assert not serving.refused


def test_serving_of_an_old_release() -> None:
    info = {
        "context_length": None,
        "max_total_num_tokens": 59_994,
        "max_req_input_len": 59_988,
        "version": "0.4.6.post5",
    }
    serving = SGLANG.read_serving(
        {"/v1/models": MODELS, "/server_info": NOT_FOUND, "/get_server_info": ok(info), "/v1/loads": NOT_FOUND}
    )
    assert serving.context_length == 200_000  # the flag was unset, the model card says what is in effect
    assert serving.pool_tokens == 59_994
    assert serving.largest_request_tokens == 59_987
    assert serving.running_requests is None
    assert serving.settings == {}


def test_a_pool_smaller_than_the_context_is_what_limits() -> None:
    serving = SGLANG.read_serving(
        {"/v1/models": MODELS, "/server_info": ok({"max_total_num_tokens": 101_134, "version": "0.5.10"})}
    )
    assert serving.context_length == 200_000
    assert serving.largest_request_tokens == 101_127


def test_a_draft_takes_its_share_of_the_context() -> None:
    draft = {
        "speculative_algorithm": "EAGLE3",
        "speculative_eagle_topk": 8,
        "speculative_num_steps": 5,
        "speculative_num_draft_tokens": 32,
    }
    serving = SGLANG.read_serving({"/v1/models": MODELS, "/server_info": ok(INFO | draft)})
    assert serving.reserved_tokens == 40
    assert serving.largest_request_tokens == 199_958  # 199 958 + 40 + 1 token out < 200 000


def test_the_pool_of_the_smallest_rank_counts_where_no_total_is_given() -> None:
    states = [{"memory_usage": {"token_capacity": 900}}, {"memory_usage": {"token_capacity": 800}}, {}]
    assert SGLANG.read_serving({"/server_info": ok({"internal_states": states})}).pool_tokens == 800


def test_no_secret_of_the_account_is_kept() -> None:
    assert "CANARY" in json.dumps(INFO)
    assert "CANARY" not in repr(SGLANG.read_serving({"/v1/models": MODELS, "/server_info": ok(INFO)}))
    assert not {"api_key", "admin_api_key"} & set(SGLANG.read_serving({"/server_info": ok(INFO)}).settings)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_told_apart(status: int) -> None:
    refused = Reply(status, b'{"error":"Unauthorized"}')
    serving = SGLANG.read_serving({"/v1/models": refused, "/server_info": refused})
    assert serving.refused
    assert serving.context_length is None


def test_no_answer_says_nothing() -> None:
    serving = SGLANG.read_serving({"/v1/models": Reply(0, error="connection refused")})
    assert serving.model is None
    assert not serving.refused


def test_escapes_in_a_model_name_are_made_visible() -> None:
    serving = SGLANG.read_serving({"/v1/models": ok({"data": [{"id": "\x1b[2Jlarge\nforged"}]})})
    assert serving.model == "\\x1b[2Jlarge forged"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["data", "id", "max_model_len", "context_length", "max_total_num_tokens", "max_req_input_len", "loads",
                 "internal_states", "memory_usage", "token_capacity", "num_running_reqs", "version", "tp_size", "error",
                 "message", "meta_info", "finish_reason", "type", "prompt_tokens", "e2e_latency",
                 "speculative_algorithm", "speculative_num_draft_tokens"]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)  # fmt: skip
BODIES = st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()) | st.just(b"[" * 100_000)


@given(BODIES, BODIES, BODIES, st.sampled_from([0, 200, 400, 401, 404, 500]))
def test_no_body_makes_the_readers_raise(models: bytes, info: bytes, loads: bytes, status: int) -> None:
    serving = SGLANG.read_serving(
        {"/v1/models": Reply(200, models), "/server_info": Reply(200, info), "/v1/loads": Reply(200, loads)}
    )
    assert serving.context_length is None or serving.context_length > 0
    SGLANG.read_generation(Reply(status, models))


def test_a_probe_is_a_generation_of_exactly_this_size() -> None:
    request = SGLANG.probe(33_000, 16, "run-1")
    assert request.json is not None
    assert (request.method, request.path) == ("POST", "/generate?console")
    assert request.json["rid"] == "run-1"
    assert len(request.json["input_ids"]) == 33_000
    assert request.json["sampling_params"] == {
        "max_new_tokens": 16, "min_new_tokens": 16, "ignore_eos": True, "temperature": 0,
    }  # fmt: skip
    assert request.timeout_s > 60 + 33_000 / 1000


def test_a_probe_repeats_for_its_id_and_shares_no_beginning_with_another() -> None:
    def ids(request_id: str) -> list[int]:
        body = SGLANG.probe(2_000, 1, request_id).json
        assert body is not None
        return list(body["input_ids"])

    assert ids("a") == ids("a")
    assert len(set(ids("a"))) > 1_000
    assert min(ids("a")) >= 100
    assert max(ids("a")) < 5_000
    shared = sum(one == other for one, other in zip(ids("a"), ids("b"), strict=True))
    assert shared < 20


def test_a_generation_is_read_from_what_the_server_counted() -> None:
    meta = {
        "id": "run-1", "finish_reason": {"type": "length", "length": 16}, "prompt_tokens": 33_000,
        "completion_tokens": 16, "cached_tokens": 0, "e2e_latency": 4.61, "spec_verify_ct": 6,
    }  # fmt: skip
    generation = SGLANG.read_generation(ok({"text": "…", "output_ids": [1], "meta_info": meta}))
    assert generation.prompt_tokens == 33_000
    assert generation.completion_tokens == 16
    assert generation.cached_tokens == 0
    assert generation.server_time_s == 4.61
    assert generation.verify_steps == 6
    assert generation.finish_reason == "length"
    assert generation.error == ""


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(400, b'{"error":{"message":"Input length (9 tokens) exceeds"}}'), "Input length (9 tokens) exceeds"),
        (Reply(400, b'{"object":"error","message":"too long","type":"BadRequestError","code":400}'), "too long"),
        (Reply(401, b'{"error":"Unauthorized"}'), "Unauthorized"),
        (Reply(404, b'{"detail":"Not Found"}'), "Not Found"),
        (Reply(500, b"Internal Server Error"), "HTTP 500"),
        (Reply(0, error="connection reset"), "connection reset"),
        (Reply(0), "no answer"),
        (Reply(200, b""), "the answer holds no meta_info"),
        (ok({"error": {"message": "late"}}), "late"),
        (
            ok({"meta_info": {"finish_reason": {"type": "abort", "message": "aborted by a client"}}}),
            "aborted by a client",
        ),
    ],
)
def test_an_error_says_what_the_server_said(reply: Reply, error: str) -> None:
    assert SGLANG.read_generation(reply).error == error


@pytest.mark.parametrize(
    ("context", "pool", "output", "largest"),
    [
        (200_000, 203_386, 1, 199_993),  # the scheduler: shorter than min(context, pool) - 6
        (200_000, 101_134, 1, 101_127),
        (200_000, 203_386, 64, 199_934),  # all 64 come out: prompt + 64 + 1 ≤ min(context, pool) - 1
        (32_768, 101_134, 600, 32_166),
        (100, 100, 600, 0),
    ],
)
def test_the_largest_request_fits_context_and_pool(context: int, pool: int, output: int, largest: int) -> None:
    assert SGLANG.largest_request(context, pool, output) == largest
