"""What vLLM's HTTP answers mean, across its releases. No body makes these functions raise."""

from __future__ import annotations

from collections.abc import Mapping

from console.engines.base import Generation, Reply
from console.engines.bodies import (
    LargestRequest,
    as_count,
    as_dict,
    as_list,
    as_text,
    error_text,
    no_generation,
    object_of,
    read_json,
    status_text,
)
from console.engines.metrics import Counters, Metrics
from console.schema.serving import Serving
from console.untrusted import decode


def serving(replies: Mapping[str, Reply], largest_request: LargestRequest) -> Serving:
    """The answers to `VLLM.status_requests`, by path; any may be missing, refused or garbage.

    The pool is blocks × block size of `cache_config_info`. Models with several kinds of cache count blocks otherwise:
    since an instance starts only where one full request fits, fewer tokens than the window mean such a model, and the
    pool is not known.
    """
    cards = [item for item in as_list(object_of(replies.get("/v1/models")).get("data")) if isinstance(item, dict)]
    card = cards[0] if cards else {}  # the base model comes first, LoRA adapters after it
    counted = counters(replies.get("/metrics", Reply(0)))
    context = as_count(card.get("max_model_len"))
    pool = counted.pool_tokens
    if pool is not None and context is not None and pool < context:
        pool = None
    return Serving(
        model=as_text(card.get("id")) or None,
        version=as_text(object_of(replies.get("/version")).get("version")) or None,
        context_length=context,
        pool_tokens=pool,
        largest_request_tokens=largest_request(context, pool or context, 1) if context else None,
        running_requests=counted.requests_running,
        queued_requests=counted.requests_waiting,
        settings={"context_length": str(context)} if context else {},
        refused=any(reply.status in (401, 403) for reply in replies.values()),
    )


def generation(reply: Reply) -> Generation:
    """The answer to `/v1/completions`; it says neither its own time nor its verify steps."""
    body = as_dict(read_json(reply.body))
    if reply.status != 200:
        return no_generation(error_text(body) or reply.error or status_text(reply))
    usage = as_dict(body.get("usage"))
    choices = [item for item in as_list(body.get("choices")) if isinstance(item, dict)]
    if not usage or not choices:
        return no_generation(error_text(body) or "the answer holds no usage")
    return Generation(
        prompt_tokens=as_count(usage.get("prompt_tokens")),
        completion_tokens=as_count(usage.get("completion_tokens")),
        cached_tokens=as_count(as_dict(usage.get("prompt_tokens_details")).get("cached_tokens")),
        server_time_s=None,
        verify_steps=None,
        finish_reason=as_text(choices[0].get("finish_reason")) or None,
    )


def counters(reply: Reply) -> Counters:
    """The answer to `/metrics`. `num_drafts` counts steps that drafted; a step without a draft is not among them."""
    if reply.status != 200:
        return Counters(error=reply.error or status_text(reply))
    found = Metrics.parse(decode(reply.body))
    drafts, accepted = found.sum("vllm:spec_decode_num_drafts"), found.sum("vllm:spec_decode_num_accepted_tokens")
    blocks = found.label("vllm:cache_config_info", "num_gpu_blocks") or ""
    size = found.label("vllm:cache_config_info", "block_size") or ""
    # All ranks of one engine see the same requests; the iteration histogram has one count a step.
    steps = found.sum("vllm:iteration_tokens_total_count", "vllm:iteration_tokens_total_sum_count")
    return Counters(
        prompt_tokens=found.sum("vllm:prompt_tokens"),
        generated_tokens=found.sum("vllm:generation_tokens"),
        cached_tokens=found.sum("vllm:prefix_cache_hits"),
        draft_steps=drafts,
        drafted_tokens=found.sum("vllm:spec_decode_num_draft_tokens"),
        accepted_tokens=accepted,
        engine_steps=steps,
        requests_running=found.count("vllm:num_requests_running"),
        requests_waiting=found.count("vllm:num_requests_waiting"),
        running_by_replica=found.by_label("vllm:num_requests_running", "engine", "engine "),
        retracted=found.sum("vllm:num_preemptions"),
        pool_usage=found.largest("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
        accept_length=1 + accepted / drafts if drafts and accepted is not None else None,
        pool_tokens=int(blocks) * int(size) if blocks.isdigit() and size.isdigit() else None,
    )
