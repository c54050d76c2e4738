"""How llama.cpp's server spells settings, and what its answers mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.engines.base import Reply
from console.engines.registry import engine_named

LLAMACPP = engine_named("llamacpp")


def ok(body: Any) -> Reply:
    return Reply(200, json.dumps(body).encode())


PROPS = ok(
    {"default_generation_settings": {"n_ctx": 16384}, "total_slots": 4, "model_alias": "m", "build_info": "b1-c"}
)


@pytest.mark.parametrize(
    ("word", "flag"),
    [
        ("-c", "--ctx-size"),
        ("--ctx-size", "--ctx-size"),
        ("--ctx_size", "--ctx-size"),
        ("--ctx", None),
        ("-np", "--parallel"),
        ("--draft-max", "--spec-draft-n-max"),
    ],
)
def test_names_are_whole_and_have_short_forms(word: str, flag: str | None) -> None:
    assert LLAMACPP.resolve_flag(word) == flag


def test_serving_is_what_one_slot_gets() -> None:
    slots = ok([{"id": 0, "n_ctx": 16384, "is_processing": True}, {"id": 1, "n_ctx": 16384, "is_processing": False}])
    serving = LLAMACPP.read_serving({"/props": PROPS, "/slots": slots})
    assert (serving.context_length, serving.slots, serving.running_requests) == (16384, 4, 1)
    assert (serving.model, serving.version) == ("m", "b1-c")
    assert serving.largest_request_tokens == 16382


def test_while_it_loads_nothing_is_served() -> None:
    loading = Reply(503, b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}')
    assert LLAMACPP.read_serving({"/props": loading}).context_length is None


@pytest.mark.parametrize(
    ("given", "served", "slots", "agrees"),
    [
        ("65536", "65536", 1, True),
        ("200000", "200192", 1, True),  # rounded up to blocks of 256
        ("65536", "16384", 4, True),  # four slots share it
        ("65536", "65536", 4, True),  # one pool for all slots
        ("65536", "16384", 1, False),
        ("200000", "131072", 1, False),  # capped to what the model was trained with
        ("0", "131072", 1, True),
    ],
)
def test_a_window_is_rounded_and_shared(given: str, served: str, slots: int, agrees: bool) -> None:
    assert LLAMACPP.agrees("context_length", given, served, slots) is agrees


def test_a_generation_counts_steps_from_accepted_drafts() -> None:
    timings = {"prompt_n": 60, "cache_n": 4, "predicted_n": 30, "prompt_ms": 20.0, "predicted_ms": 480.0}
    plain = LLAMACPP.read_generation(ok({"timings": timings, "stop_type": "limit"}))
    assert (plain.prompt_tokens, plain.completion_tokens, plain.verify_steps) == (64, 30, None)
    assert (plain.server_time_s, plain.finish_reason) == (0.5, "length")
    drafted = LLAMACPP.read_generation(ok({"timings": timings | {"draft_n": 40, "draft_n_accepted": 20}}))
    assert drafted.verify_steps == 10


def test_a_request_that_is_too_long_is_an_error() -> None:
    body = {"error": {"code": 400, "message": "request (9 tokens) exceeds the available context size (8 tokens)"}}
    assert "exceeds" in LLAMACPP.read_generation(Reply(400, json.dumps(body).encode())).error


def test_counters() -> None:
    text = "llamacpp:tokens_predicted_total 300\nllamacpp:n_decode_total 120\nllamacpp:requests_processing 2\n"
    text += "llamacpp:spec_decode_num_drafts_total 100\nllamacpp:spec_decode_num_accepted_tokens_total 150\n"
    counters = LLAMACPP.read_counters(Reply(200, text.encode()))
    assert (counters.generated_tokens, counters.engine_steps, counters.requests_running) == (300, 120, 2)
    assert counters.accept_length == 2.5
    assert "metrics" in LLAMACPP.read_counters(Reply(501, b'{"error":{"message":"no metrics endpoint"}}')).error


@given(st.binary(max_size=200))
def test_no_body_makes_it_raise(body: bytes) -> None:
    reply = Reply(200, body)
    LLAMACPP.read_serving({"/v1/models": reply, "/metrics": reply, "/props": reply, "/slots": reply})
    LLAMACPP.read_generation(reply)
    LLAMACPP.read_counters(reply)
