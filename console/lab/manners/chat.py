"""One whole turn of a chat, as vLLM and llama.cpp answer it: words, a call of a tool, or a JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .wire import count_tokens

# Tokens that such an answer takes, and the most of an answer in words.
CALL_TOKENS, WORDS = 24, 64


def question_of(body: Mapping[str, Any]) -> str:
    """The words of all messages; a content in parts counts its texts."""
    told: list[str] = []
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        parts = content if isinstance(content, list) else [{"text": content}]
        told += [str(part.get("text") or "") for part in parts if isinstance(part, dict)]
    return " ".join(told)


def turn(body: Mapping[str, Any], *, broken: bool) -> tuple[dict[str, Any], str, int]:
    """The message, why it ended, and its tokens. `broken`: a call or an object ends in the middle."""
    question = question_of(body)
    tools = [item["function"] for item in body.get("tools") or []]
    if tools and body.get("tool_choice") != "none":
        words = set(re.findall(r"\w+", question.lower()))
        tool = max(tools, key=lambda one: len(words & set(str(one["name"]).lower().split("_"))))
        fields = tool["parameters"]["properties"]
        text = json.dumps({name: made_up(kind) for name, kind in fields.items()})
        function = {"name": tool["name"], "arguments": text[:-3] if broken else text}
        call = {"id": "call-1", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls", CALL_TOKENS
    if (body.get("response_format") or {}).get("type", "text") != "text":
        text = json.dumps(dict.fromkeys(re.findall(r'"(\w+)"', question), "word"))
        return {"role": "assistant", "content": text[:-3] if broken else text}, "stop", CALL_TOKENS
    made = min(WORDS, int(body.get("max_tokens") or WORDS))
    text = " ".join(["word"] * made)
    return {"role": "assistant", "content": text}, "stop" if made == WORDS else "length", made


def completion(body: Mapping[str, Any], model: str, *, broken: bool) -> tuple[dict[str, Any], int, int]:
    """The answer as OpenAI's form has it, with the tokens of prompt and answer."""
    message, finish, made = turn(body, broken=broken)
    given = count_tokens(question_of(body)) + count_tokens(json.dumps(body.get("tools") or ""))
    answer = {
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made},
    }
    return answer, given, made


def made_up(kind: Mapping[str, Any]) -> Any:
    """A value of the type that a tool's schema wants."""
    if kind.get("enum"):
        return kind["enum"][0]
    return {"integer": 2, "number": 2.5, "boolean": False, "array": [], "object": {}}.get(kind.get("type", ""), "word")
