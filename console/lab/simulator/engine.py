"""One served model: what the endpoints know and do, without HTTP."""

from __future__ import annotations

import argparse
import itertools
import zlib
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from .faults import read_fault
from .memory import Limits, Memory
from .options import Options
from .scheduler import Job, Scheduler
from .sim_clock import SimClock, log
from .text_model import accept_length, recall, tokenize

STARTING, UP, STOPPING = "starting", "up", "stopping"


class BadRequestError(Exception):
    """The engine refuses this request; the text is its own."""


class Engine:
    """Checks requests, hands them to the scheduler and reports."""

    def __init__(
        self, options: Options, clock: SimClock, arguments: argparse.Namespace, memory: Memory, limits: Limits
    ) -> None:
        self.options = options
        self.clock = clock
        self.arguments = arguments
        self.memory = memory
        self.limits = limits
        self.speculates = options.speculation == "always" or (
            options.speculation == "flags" and bool(arguments.speculative_algorithm)
        )
        self.draft_tokens = arguments.speculative_num_draft_tokens or 8
        self.scheduler = Scheduler(
            options,
            clock,
            limits,
            arguments.max_running_requests or 2048,
            chunk=arguments.chunked_prefill_size,
            log_every=arguments.decode_log_interval,
            draft_tokens=self.draft_tokens,
        )
        self.state = STARTING
        self.cold = True  # until the first request of a client
        self.numbers = itertools.count(1)

    def new_rid(self) -> str:
        return f"{zlib.crc32(str(self.options.seed).encode()):08x}{next(self.numbers):024x}"

    def submit(
        self,
        prompt: array[int],
        words: Sequence[Any],
        *,
        max_new: int | None,
        min_new: int = 0,
        ignore_eos: bool = False,
        rid: str | None = None,
        warm_up: bool = False,
    ) -> Job:
        """Check and enqueue. `words` are what the class of text is judged by. Raises BadRequestError."""
        count = len(prompt)
        if count == 0:
            raise BadRequestError("The input is empty: either text or input_ids should be provided.")
        if any(token >= 1 << 31 for token in (prompt[0], prompt[-1])):
            raise BadRequestError("The input_ids contain values greater than the vocab size.")
        limits = self.limits
        if count >= limits.context:
            raise BadRequestError(
                f"The input ({count} tokens) is longer than the model's context length ({limits.context} tokens)."
            )
        # Up to 0.5.10 a sum that equals the context is refused too.
        if max_new is not None and count + max_new >= limits.context and not self.arguments.allow_auto_truncate:
            raise BadRequestError(
                f"Requested token count exceeds the model's maximum context length of {limits.context} tokens. "
                f"You requested a total of {count + max_new} tokens: {count} tokens from the input messages and "
                f"{max_new} tokens for the completion. Please reduce the number of tokens in the input messages or the "
                "completion to fit within the limit."
            )
        if count >= limits.max_input:
            told = (
                f"Input length ({count} tokens) exceeds the maximum allowed length ({limits.max_input} tokens). "
                "Use a shorter input or enable --allow-auto-truncate."
            )
            log(told, " TP0")
            raise BadRequestError(told)
        wanted = limits.max_total if max_new is None else max_new
        wanted = min(wanted, limits.max_total - count - 1)  # clipped without a word, as the engine does
        natural = max(self.options.stop_tokens + zlib.crc32(bytes(memoryview(prompt[-8:]).cast("B"))) % 97, min_new)
        ends = not ignore_eos and natural < wanted
        job = Job(
            rid=rid or self.new_rid(),
            prompt=prompt,
            max_new=natural if ends else wanted,
            accept=accept_length(self.options, count, words) if self.speculates else 1.0,
            natural_end=ends,
            arrival=self.clock.now(),
            recalled=recall(words, forgets=self._forgets(count)),
        )
        if self.cold and not warm_up:
            self.cold = False
            job.extra_s = self.options.first_request_s
        self.scheduler.submit(job)
        return job

    def _forgets(self, prompt_tokens: int) -> bool:
        return self.garbles("lossy-recall", prompt_tokens)

    def garbles(self, fault: str, prompt_tokens: int) -> bool:
        """Whether a quantised KV cache costs this of an answer now."""
        if self.arguments.kv_cache_dtype == "auto":
            return False
        return read_fault(self.options.fault_file).hits(fault, prompt_tokens)

    def meta_info(self, job: Job) -> dict[str, Any]:
        """What 0.5.10 says beside the text; times are simulated seconds."""
        done = job.finished_at is not None
        meta: dict[str, Any] = {
            "id": job.rid,
            "finish_reason": self.finish_reason(job) if done else None,
            "prompt_tokens": len(job.prompt),
            "weight_version": self.arguments.weight_version,
            "total_retractions": 0,
            "completion_tokens": job.done_tokens,
            "reasoning_tokens": 0,
            "cached_tokens": job.cached,
            "cached_tokens_details": None,
            "dp_rank": None,
        }
        if self.speculates:
            meta["spec_verify_ct"] = job.steps
            if job.steps and done:
                drafts = job.steps * (self.draft_tokens - 1)
                accepted = max(job.done_tokens - 1 - job.steps, 0)
                meta["spec_accept_rate"] = accepted / drafts
                meta["spec_accept_length"] = job.done_tokens / job.steps
                meta["spec_accept_token_num"] = accepted
                meta["spec_draft_token_num"] = drafts
        if done:
            meta["e2e_latency"] = job.latency
            if self.arguments.enable_metrics:
                first = (job.first_token_at or job.arrival) - job.arrival
                meta["queue_time"] = 0.0
                meta["first_token_latency"] = first
                meta["decode_throughput"] = job.done_tokens / max(job.latency - first, 1e-9)
        return meta

    def finish_reason(self, job: Job) -> dict[str, Any]:
        if job.reason == "length":
            return {"type": "length", "length": job.done_tokens}
        if job.reason == "abort":
            return {"type": "abort", "message": "Aborted", "status_code": None, "err_type": None}
        return {"type": "stop", "matched": 163586}

    def info(self) -> dict[str, Any]:
        """The flat answer of /server_info: arguments (the key in clear), pool, and what the scheduler last saw."""
        arguments = dict(vars(self.arguments))
        scheduler = self.scheduler
        state: dict[str, Any] = {
            **arguments,
            "last_gen_throughput": scheduler.shown_throughput,
            "memory_usage": {
                "weight": self.options.weights_gib,
                "kvcache": round(self.memory.pool_gib, 2),
                "token_capacity": self.limits.pool,
                "graph": self.options.graph_gib,
            },
            "effective_max_running_requests_per_dp": scheduler.max_running,
        }
        if scheduler.shown_accept is not None:  # absent until the first `Decode batch` line
            state["avg_spec_accept_length"] = scheduler.shown_accept
        return {
            **arguments,
            "status": "ready",
            "max_total_num_tokens": self.limits.pool,
            "max_req_input_len": self.limits.max_input,
            "internal_states": [state],
            "version": self.options.version,
        }

    def loads(self) -> dict[str, Any]:
        scheduler = self.scheduler
        running, waiting = len(scheduler.running), len(scheduler.waiting)
        load: dict[str, Any] = {
            "dp_rank": 0,
            "num_running_reqs": running,
            "num_waiting_reqs": waiting,
            "num_total_reqs": running + waiting,
            "num_used_tokens": scheduler.used_tokens,
            "max_total_num_tokens": self.limits.pool,
            "token_usage": round(scheduler.usage(), 4),
            "gen_throughput": round(scheduler.shown_throughput, 2),
            "cache_hit_rate": round(scheduler.cached_total / max(scheduler.prompt_total, 1), 4),
            "utilization": round(running / scheduler.max_running, 4),
            "max_running_requests": scheduler.max_running,
        }
        if self.speculates and scheduler.shown_accept is not None:
            load["speculative"] = {
                "accept_length": round(scheduler.shown_accept, 4),
                "accept_rate": round(scheduler.shown_accept / self.draft_tokens, 4),
            }
        return {
            "version": self.options.version,
            "dp_rank_count": 1,
            "loads": [load],
            "aggregate": {
                "total_running_reqs": running,
                "total_waiting_reqs": waiting,
                "total_reqs": running + waiting,
            },
        }

    def metrics(self) -> str:
        """Prometheus text: names and labels of 0.5.10."""
        scheduler = self.scheduler
        label = f'{{model_name="{self.arguments.served_model_name}",engine_type="unified",tp_rank="0",pp_rank="0"}}'
        gauges: Mapping[str, float] = {
            "num_running_reqs": len(scheduler.running),
            "num_queue_reqs": len(scheduler.waiting),
            "num_used_tokens": scheduler.used_tokens,
            "token_usage": scheduler.usage(),
            "gen_throughput": scheduler.shown_throughput,
            "cache_hit_rate": scheduler.cached_total / max(scheduler.prompt_total, 1),
            "spec_accept_length": scheduler.shown_accept or 0.0,
            "max_total_num_tokens": self.limits.pool,
        }
        counters: Mapping[str, float] = {
            "prompt_tokens_total": scheduler.prompt_total,
            "generation_tokens_total": scheduler.generated_total,
            "cached_tokens_total": scheduler.cached_total,
            "num_requests_total": scheduler.requests_total,
        }
        lines = []
        for kind, values in (("gauge", gauges), ("counter", counters)):
            for name, value in values.items():
                lines += [f"# TYPE sglang:{name} {kind}", f"sglang:{name}{label} {float(value)}"]
        return "\n".join(lines) + "\n"

    def read_prompt(self, text: str | None, input_ids: Sequence[int] | None) -> tuple[array[int], Sequence[Any]]:
        """Tokens, and the words the class of text is judged by. Raises BadRequestError."""
        if input_ids is not None:
            try:
                tokens = array("I", input_ids)
            except (TypeError, OverflowError, ValueError):
                raise BadRequestError("input_ids must be a list of token ids.") from None
            return tokens, tokens
        if not isinstance(text, str):
            raise BadRequestError("Either text, input_ids or input_embeds should be provided.")
        return tokenize(text), text.split()
