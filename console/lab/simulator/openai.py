"""`/v1/completions` and `/v1/chat/completions`."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from .engine import BadRequestError
from .http_wire import HttpReply, HttpRequest, json_reply
from .scheduler import Job
from .text_model import chat_tokens

if TYPE_CHECKING:
    from .api import Api

CREATED = 1_760_000_000


def refused(message: str) -> HttpReply:
    body = {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}
    return json_reply(body, 400)


async def completions(api: Api, request: HttpRequest) -> HttpReply:
    asked = request.json()
    prompt = asked.get("prompt")
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], str):
        if len(prompt) > 1:
            return refused("One prompt a request: lists of prompts are not simulated.")
        prompt = prompt[0]
    try:
        if isinstance(prompt, str):
            tokens, words = api.engine.read_prompt(prompt, None)
        else:
            tokens, words = api.engine.read_prompt(None, prompt)
        return await answer(api, request, asked, tokens, words, default_max=16, chat=False)
    except BadRequestError as error:
        return refused(str(error))


async def chat_completions(api: Api, request: HttpRequest) -> HttpReply:
    asked = request.json()
    messages = [(str(item.get("role", "user")), text_of(item.get("content"))) for item in asked.get("messages") or []]
    words = " ".join(content for _, content in messages).split()
    if not messages:
        return refused("Messages cannot be empty.")
    try:
        return await answer(api, request, asked, chat_tokens(messages), words, default_max=None, chat=True)
    except BadRequestError as error:
        return refused(str(error))


def text_of(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


async def answer(
    api: Api,
    request: HttpRequest,
    asked: dict[str, Any],
    tokens: array[int],
    words: Sequence[Any],
    *,
    default_max: int | None,
    chat: bool,
) -> HttpReply:
    limit = asked.get("max_completion_tokens") or asked.get("max_tokens") or default_max
    job = api.engine.submit(
        tokens,
        words,
        max_new=None if limit is None else int(limit),
        min_new=int(asked.get("min_tokens") or 0),
        ignore_eos=bool(asked.get("ignore_eos")),
        rid=asked.get("rid"),
    )
    shape = Shape(api, job, str(asked.get("model") or api.engine.arguments.served_model_name), chat)
    if asked.get("stream"):
        wanted = bool((asked.get("stream_options") or {}).get("include_usage"))
        return HttpReply(content_type="text/event-stream; charset=utf-8", stream=shape.events(wanted))
    await api.wait(job, request)
    whole = shape.whole()
    broken = api.engine.garbles("broken-calls", len(tokens))
    structured(whole["choices"][0], asked, " ".join(map(str, words)), broken=broken)
    return json_reply(whole)


class Shape:
    """One answer in OpenAI's form."""

    def __init__(self, api: Api, job: Job, model: str, chat: bool) -> None:
        self.api = api
        self.job = job
        self.model = model
        self.chat = chat

    def head(self, part: bool) -> dict[str, Any]:
        kind = ("chat.completion" if self.chat else "text_completion") + (".chunk" if part and self.chat else "")
        return {"id": self.job.rid, "object": kind, "created": CREATED, "model": self.model}

    def usage(self) -> dict[str, Any]:
        job = self.job
        details = {"cached_tokens": job.cached} if self.api.engine.arguments.enable_cache_report else None
        return {
            "prompt_tokens": len(job.prompt),
            "total_tokens": len(job.prompt) + job.done_tokens,
            "completion_tokens": job.done_tokens,
            "prompt_tokens_details": details,
            "reasoning_tokens": 0,
        }

    def choice(self, text: str, part: bool, finish: str | None) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": finish}
        if self.chat:
            choice["delta" if part else "message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        return choice

    def whole(self) -> dict[str, Any]:
        choice = self.choice(self.job.reply.text(0, self.job.done_tokens), False, self.job.reason)
        return {**self.head(False), "choices": [choice], "usage": self.usage()}

    async def events(self, with_usage: bool) -> AsyncIterator[bytes]:
        sent = 0
        try:
            async for done in self.api.progress(self.job):
                finish = self.job.reason if self.job.finished_at is not None else None
                part = {**self.head(True), "choices": [self.choice(self.job.reply.text(sent, done), True, finish)]}
                sent = done
                yield event(part)
            if with_usage:
                yield event({**self.head(True), "choices": [], "usage": self.usage()})
            yield b"data: [DONE]\n\n"
        finally:
            self.api.drop(self.job)


def structured(choice: dict[str, Any], asked: dict[str, Any], question: str, *, broken: bool) -> None:
    """A call of the tool whose words stand in the question, or an object with the keys that are asked for in quotes."""
    tools = [item["function"] for item in asked.get("tools") or []]
    if tools and asked.get("tool_choice") != "none":
        asked_for = set(question.lower().split())
        tool = max(tools, key=lambda one: len(asked_for & set(str(one["name"]).lower().split("_"))))
        fields = tool["parameters"]["properties"]
        text = json.dumps({key: made_up(kind) for key, kind in fields.items()})
        function = {"name": tool["name"], "arguments": text[:-3] if broken else text}
        choice["message"] |= {
            "content": None,
            "tool_calls": [{"id": "call_0", "type": "function", "function": function}],
        }
        choice["finish_reason"] = "tool_calls"
    elif (asked.get("response_format") or {}).get("type", "text") != "text":
        text = json.dumps(dict.fromkeys(re.findall(r'"(\w+)"', question), "word"))
        choice["message"]["content"] = text[:-3] if broken else text
        choice["finish_reason"] = "stop"


def made_up(kind: dict[str, Any]) -> Any:
    if kind.get("enum"):
        return kind["enum"][0]
    return {"integer": 4, "number": 4.5, "boolean": True, "array": [], "object": {}}.get(kind.get("type", ""), "word")


def event(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()
