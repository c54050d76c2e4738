"""llama.cpp's server, measured: `/completion`, whose `timings` are the engine's own clock and draft counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from console.engines import llamacpp_replies
from console.engines.base import Generation, Reply, Request
from console.engines.bodies import as_count, as_dict, read_json
from console.engines.marks import OURS
from console.engines.sglang_measuring import token_ids
from console.engines.tallies import tallies
from console.schema.traffic import Counters, Traffic

if TYPE_CHECKING:
    from console.engines.measuring import Wanted

_COUNTERS = {
    "generated_tokens": "llamacpp:tokens_predicted",
    "steps": "llamacpp:spec_decode_num_drafts",
    "accepted": "llamacpp:spec_decode_num_accepted_tokens",
}


class LlamaCppMeasuring:
    """See `Measuring`. The prompt cache is a slot's own: one stream at a time finds it again."""

    def generate(self, wanted: Wanted) -> Request:
        body: dict[str, Any] = {
            "prompt": wanted.prompt if isinstance(wanted.prompt, str) else list(wanted.prompt),
            "n_predict": wanted.output_tokens,
            "ignore_eos": wanted.ignore_eos,
            "cache_prompt": True,
            "temperature": 0,
        }
        if wanted.stream:
            body |= {"stream": True, "timings_per_token": True}
        return Request("POST", f"/completion?{OURS}", json=body, timeout_s=wanted.limit_s)

    def read(self, reply: Reply) -> Generation:
        read = llamacpp_replies.generation(reply)
        text = as_dict(read_json(reply.body)).get("content")
        return read if read.error or not isinstance(text, str) else replace(read, text=text)

    def read_part(self, line: str) -> Generation | None:
        name, _, data = line.partition(":")
        if name != "data" or not data.strip():
            return None
        body = as_dict(read_json(data.strip().encode()))
        if body.get("stop") is True:
            return llamacpp_replies.generation(Reply(200, data.strip().encode()))
        tokens = as_count(as_dict(body.get("timings")).get("predicted_n"))
        return None if tokens is None else Generation(None, tokens, None, None, None, None)

    def tokenize(self, text: str) -> Request:
        return Request("POST", f"/tokenize?{OURS}", json={"content": text, "add_special": True}, timeout_s=60.0)

    def read_tokens(self, reply: Reply) -> tuple[int, ...] | None:
        return token_ids(reply)

    def abort(self, request_id: str) -> Request | None:
        """Only closing its connection stops a request, and that at once."""
        return None

    def traffic_requests(self) -> Sequence[Request]:
        """`/metrics` with `--metrics`, else the slots."""
        return (Request("GET", "/metrics"), Request("GET", "/slots", unless="/metrics"))

    def read_traffic(self, replies: Mapping[str, Reply]) -> Traffic:
        counted = llamacpp_replies.counters(replies.get("/metrics", Reply(0)))
        if counted.requests_running is not None:
            return Traffic(counted.requests_running, counted.requests_waiting)
        slots = read_json(replies["/slots"].body) if "/slots" in replies else None
        if not isinstance(slots, list):
            return Traffic()
        return Traffic(sum(isinstance(slot, dict) and slot.get("is_processing") is True for slot in slots))

    def counters_request(self) -> Request | None:
        return Request("GET", "/metrics")

    def read_counters(self, reply: Reply) -> Counters:
        return tallies(reply, _COUNTERS, ())

    def speculates(self, settings: Mapping[str, str]) -> bool | None:
        """Each answer's timings say so by themselves."""
        return False
