"""One turn of a chat in OpenAI's form, with tools or as JSON: what SGLang, vLLM and llama.cpp answer alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.engines.base import Reply, Request
from console.engines.bodies import as_dict, as_list, as_text, error_text, read_json, status_text
from console.engines.marks import OURS

TIMEOUT_S = 300.0
TEXT_LIMIT = 20_000


@dataclass(frozen=True)
class Call:
    """One call of a tool as the model wrote it; `arguments` is text that should be JSON."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Turn:
    """An answer. `error`: there is none, and why; `cut`: it ran into its limit of tokens."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    cut: bool = False
    error: str = ""


def chat_request(
    model: str, question: str, output_tokens: int, *, tools: Sequence[Mapping[str, Any]] = (), as_json: bool = False
) -> Request:
    """Greedy and whole, not streamed. `tools` are offered; with `as_json` the engine holds the answer to JSON."""
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": question}],
        "max_tokens": output_tokens,
        "temperature": 0,
    }
    if model:
        body["model"] = model
    if tools:
        body |= {"tools": [{"type": "function", "function": dict(one)} for one in tools], "tool_choice": "auto"}
    if as_json:
        body["response_format"] = {"type": "json_object"}
    return Request("POST", f"/v1/chat/completions?{OURS}", json=body, timeout_s=TIMEOUT_S)


def read_chat(reply: Reply) -> Turn:
    """No body makes it raise."""
    body = as_dict(read_json(reply.body))
    if reply.status != 200:
        return Turn(error=error_text(body) or reply.error or status_text(reply))
    choices = as_list(body.get("choices"))
    choice = as_dict(choices[0]) if choices else {}
    message = as_dict(choice.get("message"))
    if not message:
        return Turn(error=error_text(body) or "the answer holds no message")
    calls = [as_dict(as_dict(one).get("function")) for one in as_list(message.get("tool_calls"))[:20]]
    return Turn(
        text=_whole(message.get("content")),
        calls=tuple(Call(as_text(one.get("name")), _whole(one.get("arguments"))) for one in calls),
        cut=choice.get("finish_reason") == "length",
    )


def _whole(value: object) -> str:
    """Text as it is: cut and on one line it would be other JSON."""
    return value[:TEXT_LIMIT] if isinstance(value, str) else ""
