"""SGLang, measured: `/generate` with its `meta_info`, `/v1/loads`, `/metrics`, `/tokenize` and `/abort_request`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from console.engines import sglang_replies
from console.engines.base import Generation, Reply, Request
from console.engines.bodies import as_count, as_list, object_of, read_json, summed
from console.engines.marks import OURS
from console.engines.tallies import tallies
from console.schema.traffic import Counters, Traffic

if TYPE_CHECKING:
    from console.engines.measuring import Wanted

# `spec_verify_calls` from 0.5.23.
_COUNTERS = {"requests": "sglang:num_requests", "generated_tokens": "sglang:generation_tokens"}
_STEPS = {"steps": "sglang:spec_verify_calls"}
_LABELS = ("engine_type", "dp_rank", "tp_rank", "pp_rank")


class SGLangMeasuring:
    """See `Measuring`."""

    def generate(self, wanted: Wanted) -> Request:
        """Native `/generate`: its answer counts tokens and verify steps in every release, and times the request."""
        params: dict[str, Any] = {"max_new_tokens": wanted.output_tokens, "temperature": 0}
        if wanted.ignore_eos:
            params |= {"ignore_eos": True, "min_new_tokens": wanted.output_tokens}
        text = isinstance(wanted.prompt, str)
        body: dict[str, Any] = {
            "rid": wanted.request_id,
            "text" if text else "input_ids": wanted.prompt if text else list(wanted.prompt),
            "sampling_params": params,
        }
        if wanted.stream:
            body["stream"] = True
        return Request("POST", f"/generate?{OURS}", json=body, timeout_s=wanted.limit_s)

    def read(self, reply: Reply) -> Generation:
        body = read_json(reply.body)
        read = sglang_replies.generation_of(body, reply)
        return read if read.error else replace(read, text=_text_of(body))

    def read_part(self, line: str) -> Generation | None:
        """An event of the stream: the whole text so far, and counts that only grow."""
        name, _, data = line.partition(":")
        if name != "data" or not data.strip() or data.strip() == "[DONE]":
            return None
        return self.read(Reply(200, data.strip().encode()))

    def tokenize(self, text: str) -> Request:
        """From 0.5.5 on; before that it is 404."""
        return Request("POST", f"/tokenize?{OURS}", json={"prompt": text}, timeout_s=60.0)

    def read_tokens(self, reply: Reply) -> tuple[int, ...] | None:
        return token_ids(reply)

    def abort(self, request_id: str) -> Request | None:
        """SGLang aborts every request whose id *begins* with this one: ours are all of one length."""
        return Request("POST", f"/abort_request?{OURS}", json={"rid": request_id}, timeout_s=5.0)

    def traffic_requests(self) -> Sequence[Request]:
        """`/v1/loads` from 0.5.8, `/get_load` before; never `/health`, which generates."""
        return (Request("GET", "/v1/loads"), Request("GET", "/get_load", unless="/v1/loads"))

    def read_traffic(self, replies: Mapping[str, Reply]) -> Traffic:
        loads = [item for item in as_list(object_of(replies.get("/v1/loads")).get("loads")) if isinstance(item, dict)]
        if loads:
            by_replica = {
                f"dp{item['dp_rank']}": count
                for item in loads
                if type(item.get("dp_rank")) is int and (count := as_count(item.get("num_running_reqs"))) is not None
            }
            return Traffic(summed(loads, "num_running_reqs"), summed(loads, "num_waiting_reqs"), by_replica)
        old = replies.get("/get_load")
        body = read_json(old.body) if old is not None and old.status == 200 else None
        ranks = [item for item in as_list(body) if isinstance(item, dict)]
        total, waiting = summed(ranks, "num_reqs"), summed(ranks, "num_waiting_reqs")
        return Traffic(None if total is None else total - (waiting or 0), waiting)

    def counters_request(self) -> Request | None:
        return Request("GET", "/metrics")

    def read_counters(self, reply: Reply) -> Counters:
        return tallies(reply, _COUNTERS | _STEPS, _LABELS)

    def speculates(self, settings: Mapping[str, str]) -> bool | None:
        if "speculative_algorithm" not in settings:
            return None if not settings else False
        return settings["speculative_algorithm"].lower() not in ("", "none")


def token_ids(reply: Reply) -> tuple[int, ...] | None:
    """`{"tokens": [1, 2]}`, as all three engines answer; None for anything else."""
    tokens = object_of(reply).get("tokens")
    if not isinstance(tokens, list) or not all(type(token) is int and token >= 0 for token in tokens):
        return None
    return tuple(tokens)


def _text_of(body: object) -> str:
    if isinstance(body, list) and body:
        body = body[0]
    text = body.get("text") if isinstance(body, dict) else None
    return text if isinstance(text, str) else ""
