"""What the HTTP answers of llama.cpp's server mean, across its builds. No body makes these functions raise."""

from __future__ import annotations

from collections.abc import Mapping

from console.engines.base import Generation, Reply
from console.engines.bodies import (
    LargestRequest,
    as_count,
    as_dict,
    as_list,
    as_seconds,
    as_text,
    error_text,
    no_generation,
    object_of,
    read_json,
    smallest,
    status_text,
)
from console.engines.metrics import Counters, Metrics
from console.schema.serving import Serving
from console.untrusted import decode


def serving(replies: Mapping[str, Reply], largest_request: LargestRequest) -> Serving:
    """The answers to `LlamaCpp.status_requests`, by path; any may be missing, refused or garbage.

    The window is one slot's: what a single request gets. The pool is made as large as the window asks.
    """
    props = object_of(replies.get("/props"))
    cards = [item for item in as_list(object_of(replies.get("/v1/models")).get("data")) if isinstance(item, dict)]
    card = cards[0] if cards else {}
    slots = [item for item in as_list(_body(replies.get("/slots"))) if isinstance(item, dict)]
    counted = counters(replies.get("/metrics", Reply(0)))
    context = (
        as_count(as_dict(props.get("default_generation_settings")).get("n_ctx"))
        or as_count(as_dict(card.get("meta")).get("n_ctx"))
        or smallest([as_count(slot.get("n_ctx")) for slot in slots])
    )
    busy = sum(slot.get("is_processing") is True for slot in slots) if slots else None
    total = as_count(props.get("total_slots")) or len(slots) or 1
    return Serving(
        model=as_text(props.get("model_alias")) or as_text(card.get("id")) or None,
        version=as_text(props.get("build_info")) or None,
        context_length=context,
        pool_follows_window=True,
        largest_request_tokens=largest_request(context, context, 1) if context else None,
        running_requests=counted.requests_running if counted.requests_running is not None else busy,
        queued_requests=counted.requests_waiting,
        settings={"max_running_requests": str(total)} if props else {},
        slots=total,
        refused=any(reply.status in (401, 403) for reply in replies.values()),
    )


def _body(reply: Reply | None) -> object:
    return read_json(reply.body) if reply is not None and reply.status == 200 else None


def generation(reply: Reply) -> Generation:
    """The answer to `/completion`.

    A step commits what it accepted of its draft and one token of its own, so the steps are the tokens less the
    accepted ones; without a draft every token is a step.
    """
    body = as_dict(read_json(reply.body))
    if reply.status != 200:
        return no_generation(error_text(body) or reply.error or status_text(reply))
    timings = as_dict(body.get("timings"))
    if not timings:
        return no_generation(error_text(body) or "the answer holds no timings")
    cached = as_count(timings.get("cache_n"))
    cached = as_count(body.get("tokens_cached")) if cached is None and "tokens_evaluated" not in body else cached
    evaluated = as_count(body.get("tokens_evaluated"))
    prompt = evaluated if evaluated is not None else _added(as_count(timings.get("prompt_n")), cached)
    predicted = as_count(timings.get("predicted_n"))
    drafted, accepted = as_count(timings.get("draft_n")), as_count(timings.get("draft_n_accepted"))
    times = [as_seconds(timings.get("prompt_ms")), as_seconds(timings.get("predicted_ms"))]
    known = [each for each in times if each is not None]
    stop = as_text(body.get("stop_type"))
    return Generation(
        prompt_tokens=prompt,
        completion_tokens=predicted,
        cached_tokens=cached,
        server_time_s=sum(known) / 1000 if known else None,
        verify_steps=predicted - accepted if drafted and predicted is not None and accepted is not None else None,
        finish_reason={"limit": "length", "eos": "stop", "word": "stop"}.get(stop, stop) or None,
    )


def _added(one: int | None, other: int | None) -> int | None:
    return None if one is None else one + (other or 0)


def counters(reply: Reply) -> Counters:
    """The answer to `/metrics`, 501 without `--metrics`."""
    if reply.status != 200:
        body = as_dict(read_json(reply.body))
        return Counters(error=error_text(body) or reply.error or status_text(reply))
    found = Metrics.parse(decode(reply.body))
    drafts = found.sum("llamacpp:spec_decode_num_drafts")
    accepted = found.sum("llamacpp:spec_decode_num_accepted_tokens")
    return Counters(
        prompt_tokens=found.sum("llamacpp:prompt_tokens"),
        generated_tokens=found.sum("llamacpp:tokens_predicted"),
        draft_steps=drafts,
        drafted_tokens=found.sum("llamacpp:spec_decode_num_draft_tokens"),
        accepted_tokens=accepted,
        engine_steps=found.sum("llamacpp:n_decode"),
        requests_running=found.count("llamacpp:requests_processing"),
        requests_waiting=found.count("llamacpp:requests_deferred"),
        pool_usage=found.largest("llamacpp:kv_cache_usage_ratio"),
        accept_length=1 + accepted / drafts if drafts and accepted is not None else None,
    )
