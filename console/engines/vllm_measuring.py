"""vLLM, measured: `/v1/completions` with usage, and its own times and steps where it was started to say them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from console.engines import vllm_replies
from console.engines.base import Generation, Reply, Request
from console.engines.bodies import as_count, as_dict, as_list, as_seconds, read_json
from console.engines.marks import OURS
from console.engines.sglang_measuring import token_ids
from console.engines.tallies import tallies
from console.schema.traffic import Counters, Traffic

if TYPE_CHECKING:
    from console.engines.measuring import Wanted

_COUNTERS = {
    "requests": "vllm:request_success",
    "generated_tokens": "vllm:generation_tokens",
    "steps": "vllm:spec_decode_num_drafts",
    "iterations": "vllm:iteration_tokens_total_count",
    "accepted": "vllm:spec_decode_num_accepted_tokens",
}


class VLLMMeasuring:
    """See `Measuring`."""

    def generate(self, wanted: Wanted) -> Request:
        body: dict[str, Any] = {
            "request_id": wanted.request_id,
            "prompt": wanted.prompt if isinstance(wanted.prompt, str) else list(wanted.prompt),
            "max_tokens": wanted.output_tokens,
            "temperature": 0,
        }
        if wanted.ignore_eos:
            body |= {"ignore_eos": True, "min_tokens": wanted.output_tokens}
        if wanted.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True, "continuous_usage_stats": True}}
        return Request("POST", f"/v1/completions?{OURS}", json=body, timeout_s=wanted.limit_s)

    def read(self, reply: Reply) -> Generation:
        """`metrics` is there with `--enable-per-request-metrics` and `--per-request-spec-decode-metrics` only.

        Source: vllm#46768, vllm#48915.
        """
        read = vllm_replies.generation(reply)
        if read.error:
            return read
        body = as_dict(read_json(reply.body))
        metrics = as_dict(body.get("metrics"))
        parts = [as_seconds(metrics.get(name)) for name in ("time_to_first_token_ms", "generation_time_ms")]
        steps = as_count(as_dict(metrics.get("speculative_decoding")).get("num_spec_steps"))
        return replace(
            read,
            server_time_s=None if None in parts else sum(part or 0.0 for part in parts) / 1000,
            verify_steps=steps,
            text=_text_of(body),
        )

    def read_part(self, line: str) -> Generation | None:
        """Counts where the part has some, and what it said: text, reasoning or a tool's call; a role alone is none.

        `continuous_usage_stats` counts in every part; a release without it counts in the last one only.
        """
        name, _, data = line.partition(":")
        if name != "data" or not data.strip() or data.strip() == "[DONE]":
            return None
        body = as_dict(read_json(data.strip().encode()))
        usage = as_dict(body.get("usage"))
        choices = [item for item in as_list(body.get("choices")) if isinstance(item, dict)]
        text = said_in(choices[0]) if choices else ""
        if not usage and not text:
            return None
        finish = choices[0].get("finish_reason") if choices else None
        return Generation(
            as_count(usage.get("prompt_tokens")),
            as_count(usage.get("completion_tokens")),
            as_count(as_dict(usage.get("prompt_tokens_details")).get("cached_tokens")),
            None,
            None,
            finish if isinstance(finish, str) else None,
            text=text,
        )

    def tokenize(self, text: str) -> Request:
        return Request("POST", f"/tokenize?{OURS}", json={"prompt": text}, timeout_s=60.0)

    def read_tokens(self, reply: Reply) -> tuple[int, ...] | None:
        return token_ids(reply)

    def abort(self, request_id: str) -> Request | None:
        """Only closing its connection stops a request, and that at once."""
        return None

    def traffic_requests(self) -> Sequence[Request]:
        return (Request("GET", "/metrics"),)

    def read_traffic(self, replies: Mapping[str, Reply]) -> Traffic:
        counted = vllm_replies.counters(replies.get("/metrics", Reply(0)))
        return Traffic(counted.requests_running, counted.requests_waiting, counted.running_by_replica)

    def counters_request(self) -> Request | None:
        return Request("GET", "/metrics")

    def read_counters(self, reply: Reply) -> Counters:
        return tallies(reply, _COUNTERS, ("engine",))

    def speculates(self, settings: Mapping[str, str]) -> bool | None:
        """It does not say; its counters do."""
        return None


def said_in(choice: Mapping[str, Any]) -> str:
    """What a part of a stream says: `text` of a completion, or of a chat's delta whatever a token can become."""
    delta = as_dict(choice.get("delta"))
    said = [choice.get("text"), *(delta.get(name) for name in ("content", "reasoning_content", "reasoning"))]
    for call in as_list(delta.get("tool_calls")):
        called = as_dict(as_dict(call).get("function"))
        said += [called.get("name"), called.get("arguments")]
    return "".join(part for part in said if isinstance(part, str))


def _text_of(body: Mapping[str, Any]) -> str:
    choices = [item for item in as_list(body.get("choices")) if isinstance(item, dict)]
    text = choices[0].get("text") if choices else None
    return text if isinstance(text, str) else ""
