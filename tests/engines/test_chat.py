"""A chat's answer as any of the engines gives it, or why there is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.engines.base import Reply
from console.engines.chat import Call, Turn, chat_request, read_chat


def answered(**message: Any) -> Reply:
    body = {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop"}]}
    return Reply(200, json.dumps(body).encode())


def test_the_request_is_greedy_marked_as_ours_and_offers_what_it_shall() -> None:
    request = chat_request("m", "hello", 9, tools=[{"name": "t"}])
    assert (request.path, request.json) == (
        "/v1/chat/completions?console",
        {
            "messages": [{"role": "user", "content": "hello"}],
            "max_tokens": 9,
            "temperature": 0,
            "model": "m",
            "tools": [{"type": "function", "function": {"name": "t"}}],
            "tool_choice": "auto",
        },
    )
    plain = chat_request("", "hello", 9, as_json=True).json
    assert plain is not None
    assert plain["response_format"] == {"type": "json_object"}
    assert "model" not in plain


def test_calls_and_text_stay_as_they_are_written() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "t", "arguments": '{"a":\n 1}'}}
    assert read_chat(answered(content=None, tool_calls=[call])) == Turn("", (Call("t", '{"a":\n 1}'),))
    assert read_chat(answered(content='{"b":\n 2}')).text == '{"b":\n 2}'
    cut = {"choices": [{"message": {"content": "{"}, "finish_reason": "length"}]}
    assert read_chat(Reply(200, json.dumps(cut).encode())).cut


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(400, b'{"error": {"message": "no tool parser"}}'), "no tool parser"),
        (Reply(0, error="no answer within 300 s"), "no answer within 300 s"),
        (Reply(404), "HTTP 404"),
        (Reply(200, b"[1, 2"), "the answer holds no message"),
        (Reply(200, b'{"choices": [7]}'), "the answer holds no message"),
    ],
)
def test_what_is_no_answer_says_why(reply: Reply, error: str) -> None:
    assert read_chat(reply) == Turn(error=error)
