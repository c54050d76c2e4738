"""What SGLang's HTTP answers mean, across its releases. No body makes these functions raise."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Protocol

from console.engines.base import Generation, Reply
from console.schema.serving import Serving
from console.untrusted import decode, one_line

_LONGEST_TEXT = 500

# Setting → its key in the server's account of itself. Nothing else of that account is kept: it holds `api_key`,
# `admin_api_key` and whatever a release adds, in clear.
_REPORTED: Mapping[str, str] = {
    "context_length": "context_length",
    "mem_fraction": "mem_fraction_static",
    "kv_cache_dtype": "kv_cache_dtype",
    "max_total_tokens": "max_total_tokens",
    "max_prefill_tokens": "max_prefill_tokens",
    "max_running_requests": "max_running_requests",
    "chunked_prefill_size": "chunked_prefill_size",
    "page_size": "page_size",
    "tensor_parallel": "tp_size",
    "data_parallel": "dp_size",
    "pipeline_parallel": "pp_size",
    "expert_parallel": "ep_size",
    "decode_context_parallel": "dcp_size",
    "attention_data_parallel": "attn_dp_size",
    "dp_attention": "enable_dp_attention",
    "model_path": "model_path",
    "served_model_name": "served_model_name",
    "tokenizer_path": "tokenizer_path",
    "trust_remote_code": "trust_remote_code",
    "dtype": "dtype",
    "quantization": "quantization",
    "host": "host",
    "port": "port",
    "attention_backend": "attention_backend",
    "speculative_algorithm": "speculative_algorithm",
    "draft_model_path": "speculative_draft_model_path",
    "draft_steps": "speculative_num_steps",
    "draft_top_k": "speculative_eagle_topk",
    "draft_tokens": "speculative_num_draft_tokens",
    "draft_kv_cache_dtype": "speculative_draft_kv_cache_dtype",
    "cuda_graph_max_batch": "cuda_graph_max_bs",
    "disable_cuda_graph": "disable_cuda_graph",
    "disable_prefix_cache": "disable_radix_cache",
    "metrics": "enable_metrics",
    "cache_report": "enable_cache_report",
    "decode_log_interval": "decode_log_interval",
    "watchdog_timeout": "watchdog_timeout",
    "skip_warmup": "skip_server_warmup",
    "truncate_long_prompts": "allow_auto_truncate",
    "tool_call_parser": "tool_call_parser",
    "reasoning_parser": "reasoning_parser",
}


class LargestRequest(Protocol):
    def __call__(self, context_length: int, pool_tokens: int, output_tokens: int, reserved_tokens: int = 0) -> int: ...


def serving(replies: Mapping[str, Reply], largest_request: LargestRequest) -> Serving:
    """The answers to `SGLang.status_requests`, by path; any may be missing, refused or garbage."""
    cards = [item for item in _list(_object(replies.get("/v1/models")).get("data")) if isinstance(item, dict)]
    card = cards[0] if cards else {}  # the base model comes first, LoRA adapters after it
    info = _object(replies.get("/server_info")) or _object(replies.get("/get_server_info"))
    loads = [item for item in _list(_object(replies.get("/v1/loads")).get("loads")) if isinstance(item, dict)]
    inner = [item for item in _list(info.get("internal_states")) if isinstance(item, dict)]

    # `context_length` of the account is the flag, null where unset; the card says what is in effect.
    context = _count(card.get("max_model_len")) or _count(info.get("context_length"))
    pool = _count(info.get("max_total_num_tokens")) or _smallest(
        [_count(load.get("max_total_num_tokens")) for load in loads]
        + [_count(_dict(state.get("memory_usage")).get("token_capacity")) for state in inner]
    )
    reserved = _reserved(info)
    largest = largest_request(context, pool, 1, reserved) if context and pool else None
    limit = _count(info.get("max_req_input_len"))
    if limit:  # it refuses prompts of this length too: `len(input_ids) >= max_req_input_len`
        largest = limit - 1 if largest is None else min(limit - 1, largest)

    return Serving(
        model=_text(card.get("id")) or _text(info.get("served_model_name")) or None,
        version=_text(info.get("version")) or None,
        context_length=context,
        pool_tokens=pool,
        largest_request_tokens=largest,
        reserved_tokens=reserved,
        running_requests=_sum(loads, "num_running_reqs"),
        queued_requests=_sum(loads, "num_waiting_reqs"),
        settings={
            setting: _as_reported(info[key])
            for setting, key in _REPORTED.items()
            if isinstance(info.get(key), str | int | float)
        },
        refused=any(reply.status in (401, 403) for reply in replies.values()),
    )


def _reserved(info: Mapping[str, Any]) -> int:
    """Tokens of a request's context that a draft takes: max(top-k × steps, draft tokens).

    Source: `compute_num_reserved_tokens`. SGLang reserves them for the EAGLE family from 0.5.10 on; what a fork's own
    algorithm reserves is unknown, so every algorithm counts.
    """
    if not _text(info.get("speculative_algorithm")):
        return 0
    tree = (_count(info.get("speculative_eagle_topk")) or 0) * (_count(info.get("speculative_num_steps")) or 0)
    return max(tree, _count(info.get("speculative_num_draft_tokens")) or 0)


def generation(reply: Reply) -> Generation:
    """The answer to `/generate`."""
    body = _json(reply.body)
    if isinstance(body, list) and body:
        body = body[0]
    if reply.status != 200:
        return _nothing(_error_text(body) or reply.error or _status_text(reply))
    if not isinstance(body, dict) or not isinstance(body.get("meta_info"), dict):
        return _nothing(_error_text(body) or "the answer holds no meta_info")
    meta = body["meta_info"]
    finish = meta.get("finish_reason")
    reason = _text(finish.get("type") if isinstance(finish, dict) else finish)
    error = ""
    if isinstance(finish, dict) and reason == "abort":
        error = _text(finish.get("message")) or "the engine aborted the request"
    return Generation(
        prompt_tokens=_count(meta.get("prompt_tokens")),
        completion_tokens=_count(meta.get("completion_tokens")),
        cached_tokens=_count(meta.get("cached_tokens")),
        server_time_s=_seconds(meta.get("e2e_latency")),
        verify_steps=_count(meta.get("spec_verify_ct")),
        finish_reason=reason or None,
        error=error,
    )


def _nothing(error: str) -> Generation:
    return Generation(None, None, None, None, None, None, error=error)


def _status_text(reply: Reply) -> str:
    return f"HTTP {reply.status}" if reply.status else "no answer"


def _error_text(body: object) -> str:
    """`{"error": {"message": …}}`, `{"error": "…"}`, `{"message": …}` (OpenAI style) or `{"detail": …}`."""
    if not isinstance(body, dict):
        return ""
    error = body.get("error")
    candidates = (error.get("message") if isinstance(error, dict) else error, body.get("message"), body.get("detail"))
    return next((_text(item) for item in candidates if _text(item)), "")


def _json(body: bytes) -> Any:
    try:
        return json.loads(decode(body))
    except (ValueError, RecursionError):
        return None


def _object(reply: Reply | None) -> dict[str, Any]:
    return _dict(_json(reply.body)) if reply is not None and reply.status == 200 else {}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return one_line(value, _LONGEST_TEXT) if isinstance(value, str) else ""


def _as_reported(value: str | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return one_line(str(value), _LONGEST_TEXT)


def _count(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and 0 <= value < 2**63 else None


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _smallest(values: list[int | None]) -> int | None:
    return min((value for value in values if value), default=None)


def _sum(items: list[dict[str, Any]], key: str) -> int | None:
    counts = [_count(item.get(key)) for item in items]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
