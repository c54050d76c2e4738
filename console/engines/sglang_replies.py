"""What SGLang's HTTP answers mean, across its releases. No body makes these functions raise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.engines.base import Generation, Reply
from console.engines.bodies import (
    LargestRequest,
    as_count,
    as_dict,
    as_list,
    as_reported,
    as_seconds,
    as_text,
    error_text,
    no_generation,
    object_of,
    read_json,
    smallest,
    status_text,
    summed,
)
from console.engines.metrics import Counters, Metrics
from console.schema.serving import Serving
from console.untrusted import decode

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


def serving(replies: Mapping[str, Reply], largest_request: LargestRequest) -> Serving:
    """The answers to `SGLang.status_requests`, by path; any may be missing, refused or garbage."""
    cards = [item for item in as_list(object_of(replies.get("/v1/models")).get("data")) if isinstance(item, dict)]
    card = cards[0] if cards else {}  # the base model comes first, LoRA adapters after it
    info = object_of(replies.get("/server_info")) or object_of(replies.get("/get_server_info"))
    loads = [item for item in as_list(object_of(replies.get("/v1/loads")).get("loads")) if isinstance(item, dict)]
    inner = [item for item in as_list(info.get("internal_states")) if isinstance(item, dict)]

    # `context_length` of the account is the flag, null where unset; the card says what is in effect.
    context = as_count(card.get("max_model_len")) or as_count(info.get("context_length"))
    pool = as_count(info.get("max_total_num_tokens")) or smallest(
        [as_count(load.get("max_total_num_tokens")) for load in loads]
        + [as_count(as_dict(state.get("memory_usage")).get("token_capacity")) for state in inner]
    )
    reserved = _reserved(info)
    largest = largest_request(context, pool, 1, reserved) if context and pool else None
    limit = as_count(info.get("max_req_input_len"))
    if limit:  # it refuses prompts of this length too: `len(input_ids) >= max_req_input_len`
        largest = limit - 1 if largest is None else min(limit - 1, largest)

    return Serving(
        model=as_text(card.get("id")) or as_text(info.get("served_model_name")) or None,
        version=as_text(info.get("version")) or None,
        context_length=context,
        pool_tokens=pool,
        largest_request_tokens=largest,
        reserved_tokens=reserved,
        running_requests=summed(loads, "num_running_reqs"),
        queued_requests=summed(loads, "num_waiting_reqs"),
        generation_tok_s=_rate(loads, "gen_throughput") or _rate(inner, "last_gen_throughput"),
        settings={
            setting: as_reported(info[key])
            for setting, key in _REPORTED.items()
            if isinstance(info.get(key), str | int | float)
        },
        refused=any(reply.status in (401, 403) for reply in replies.values()),
    )


def _rate(items: list[dict[str, Any]], key: str) -> float | None:
    values = [float(item[key]) for item in items if isinstance(item.get(key), int | float)]
    return sum(values) if values else None


def _reserved(info: Mapping[str, Any]) -> int:
    """Tokens of a request's context that a draft takes: max(top-k × steps, draft tokens).

    Source: `compute_num_reserved_tokens`. SGLang reserves them for the EAGLE family from 0.5.10 on; what a fork's own
    algorithm reserves is unknown, so every algorithm counts.
    """
    if not as_text(info.get("speculative_algorithm")):
        return 0
    tree = (as_count(info.get("speculative_eagle_topk")) or 0) * (as_count(info.get("speculative_num_steps")) or 0)
    return max(tree, as_count(info.get("speculative_num_draft_tokens")) or 0)


def generation(reply: Reply) -> Generation:
    """The answer to `/generate`."""
    return generation_of(read_json(reply.body), reply)


def generation_of(body: Any, reply: Reply) -> Generation:
    """`generation` of a body that was read already."""
    if isinstance(body, list) and body:
        body = body[0]
    if reply.status != 200:
        return no_generation(error_text(body) or reply.error or status_text(reply))
    if not isinstance(body, dict) or not isinstance(body.get("meta_info"), dict):
        return no_generation(error_text(body) or "the answer holds no meta_info")
    meta = body["meta_info"]
    finish = meta.get("finish_reason")
    reason = as_text(finish.get("type") if isinstance(finish, dict) else finish)
    error = ""
    if isinstance(finish, dict) and reason == "abort":
        error = as_text(finish.get("message")) or "the engine aborted the request"
    return Generation(
        prompt_tokens=as_count(meta.get("prompt_tokens")),
        completion_tokens=as_count(meta.get("completion_tokens")),
        cached_tokens=as_count(meta.get("cached_tokens")),
        server_time_s=as_seconds(meta.get("e2e_latency")),
        verify_steps=as_count(meta.get("spec_verify_ct")),
        finish_reason=reason or None,
        error=error,
        accepted=_histogram(meta),
    )


def _histogram(meta: Mapping[str, Any]) -> tuple[int, ...]:
    """Verify steps by how many tokens of their draft they accepted: `spec_accept_histogram` since 0.5.9."""
    said = as_list(meta.get("spec_correct_drafts_histogram")) or as_list(meta.get("spec_accept_histogram"))
    counts = [one if isinstance(one, int) and not isinstance(one, bool) and one >= 0 else None for one in said[:65]]
    return tuple(one for one in counts if one is not None) if None not in counts else ()


def counters(reply: Reply) -> Counters:
    """The answer to `/metrics`; gauges of several ranks: requests are summed, the fullest pool counts."""
    if reply.status != 200:
        return Counters(error=reply.error or status_text(reply))
    found = Metrics.parse(decode(reply.body))
    pool = found.smallest("sglang:max_total_num_tokens")
    window = found.smallest("sglang:context_len")
    return Counters(
        prompt_tokens=found.sum("sglang:prompt_tokens"),
        generated_tokens=found.sum("sglang:generation_tokens"),
        cached_tokens=found.sum("sglang:cached_tokens"),
        draft_steps=found.sum("sglang:spec_verify_calls"),
        requests_running=found.count("sglang:num_running_reqs"),
        requests_waiting=found.count("sglang:num_queue_reqs"),
        running_by_replica=found.by_label("sglang:num_running_reqs", "dp_rank", "dp"),
        retracted=found.sum("sglang:num_retracted_requests"),
        pool_usage=found.largest("sglang:token_usage"),
        accept_length=found.largest("sglang:spec_accept_length"),
        pool_tokens=int(pool) if pool else None,
        context_length=int(window) if window else None,
    )
