"""A streamed answer in its parts: when its first token came, and how many tokens were there when."""

from __future__ import annotations

import json
from typing import Any

from console.engines.measuring import measuring_of
from console.measure.bench import Parts


def taken(engine: str, bodies: list[dict[str, Any]]) -> Parts:
    """A part a second, each cut in the middle of its line."""
    parts = Parts(measuring_of(engine))
    for at, body in enumerate(bodies):
        line = f"data: {json.dumps(body)}\n\n".encode()
        parts.take(float(at), line[:9])
        parts.take(float(at), line[9:])
    parts.take(float(len(bodies)), b"data: [DONE]\n\n")
    return parts


def delta(usage: int | None = None, **said: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"choices": [{"index": 0, "delta": said, "finish_reason": None}]}
    return body if usage is None else body | {"usage": {"prompt_tokens": 9, "completion_tokens": usage}}


TOOL = [{"index": 0, "function": {"name": "look", "arguments": ""}}]


def test_a_role_alone_is_no_first_token_and_reasoning_and_tools_are() -> None:
    parts = taken(
        "vllm",
        [
            delta(0, role="assistant", content=""),
            delta(3, reasoning_content="so"),
            delta(6, content="it is"),
            delta(9, tool_calls=TOOL),
        ],
    )
    assert parts.first_s == 1.0
    assert parts.seen == [(1.0, 3), (2.0, 6), (3.0, 9)]
    assert parts.last is not None
    assert parts.last.completion_tokens == 9


def test_an_engine_that_counts_at_the_end_only_still_shows_its_first_token() -> None:
    end = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 40}}
    for said in ({"reasoning": "so"}, {"tool_calls": TOOL}, {"content": "it"}):
        parts = taken("vllm", [delta(role="assistant"), delta(**said), delta(content="more"), end])
        assert (parts.first_s, parts.seen) == (1.0, [(3.0, 40)])


def test_parts_without_any_count_are_not_counted() -> None:
    parts = taken("vllm", [delta(content="one"), delta(content="two, three")])
    assert (parts.first_s, parts.seen) == (0.0, [])
    assert parts.last is not None
    assert parts.last.completion_tokens is None


def test_what_is_no_event_of_ours_is_passed_over() -> None:
    parts = Parts(measuring_of("vllm"))
    parts.take(0.0, b': ping\n\ndata: {"choices": [{"delta": null, "text": 7}]}\n\ndata: nonsense\n\n')
    assert (parts.first_s, parts.seen, parts.last) == (None, [], None)
