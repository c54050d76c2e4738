"""SGLang: how it spells settings, what it is asked over HTTP and what it answers.

Read from the releases 0.4.6 to 0.5.23. Its flags are in `sglang_flags`, its replies in `sglang_replies`, its
log lines in `sglang_log`.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence

from console.engines import sglang_flags, sglang_log, sglang_replies
from console.engines.base import Generation, LogLine, Reply, Request, Spelling, ValueKind
from console.engines.logtable import most_certain
from console.engines.marks import OURS
from console.engines.metrics import Counters
from console.engines.values import PARSERS, same_value
from console.schema.serving import Serving


def _spelling(setting: str, kind: ValueKind, *flags: str) -> tuple[str, Spelling]:
    return setting, Spelling(setting, flags, kind)


_SPELLINGS: Mapping[str, Spelling] = dict(
    (
        _spelling("context_length", "human_int", "--context-length"),
        _spelling("mem_fraction", "float", "--mem-fraction-static"),
        _spelling("kv_cache_dtype", "str", "--kv-cache-dtype"),
        _spelling("max_total_tokens", "human_int", "--max-total-tokens"),
        _spelling("max_prefill_tokens", "human_int", "--max-prefill-tokens"),
        _spelling("max_running_requests", "int", "--max-running-requests"),
        _spelling("chunked_prefill_size", "int", "--chunked-prefill-size"),
        _spelling("page_size", "int", "--page-size"),
        _spelling("tensor_parallel", "int", "--tp-size", "--tensor-parallel-size"),
        _spelling("data_parallel", "int", "--dp-size", "--data-parallel-size"),
        _spelling("pipeline_parallel", "int", "--pp-size", "--pipeline-parallel-size"),
        _spelling("expert_parallel", "int", "--ep-size", "--expert-parallel-size", "--ep"),
        _spelling("decode_context_parallel", "int", "--dcp-size", "--decode-context-parallel-size"),
        _spelling("attention_data_parallel", "int", "--attn-dp-size", "--attention-data-parallel-size"),
        _spelling("dp_attention", "flag", "--enable-dp-attention"),
        _spelling("model_path", "str", "--model-path", "--model"),
        _spelling("served_model_name", "str", "--served-model-name"),
        _spelling("tokenizer_path", "str", "--tokenizer-path"),
        _spelling("trust_remote_code", "flag", "--trust-remote-code"),
        _spelling("dtype", "str", "--dtype"),
        _spelling("quantization", "str", "--quantization"),
        _spelling("host", "str", "--host"),
        _spelling("port", "int", "--port"),
        _spelling("api_key", "str", "--api-key"),
        _spelling("admin_api_key", "str", "--admin-api-key"),
        _spelling("attention_backend", "str", "--attention-backend"),
        _spelling("speculative_algorithm", "str", "--speculative-algorithm"),
        _spelling("draft_model_path", "str", "--speculative-draft-model-path", "--speculative-draft-model"),
        _spelling("draft_steps", "int", "--speculative-num-steps"),
        _spelling("draft_top_k", "int", "--speculative-eagle-topk"),
        _spelling("draft_tokens", "int", "--speculative-num-draft-tokens"),
        _spelling("draft_kv_cache_dtype", "str", "--speculative-draft-kv-cache-dtype"),
        _spelling("cuda_graph_max_batch", "int", "--cuda-graph-max-bs"),
        _spelling("disable_cuda_graph", "flag", "--disable-cuda-graph"),
        _spelling("disable_prefix_cache", "flag", "--disable-radix-cache"),
        _spelling("metrics", "flag", "--enable-metrics"),
        _spelling("cache_report", "flag", "--enable-cache-report"),
        _spelling("decode_log_interval", "int", "--decode-log-interval"),
        _spelling("watchdog_timeout", "float", "--watchdog-timeout"),
        _spelling("skip_warmup", "flag", "--skip-server-warmup"),
        _spelling("truncate_long_prompts", "flag", "--allow-auto-truncate"),
        _spelling("tool_call_parser", "str", "--tool-call-parser"),
        _spelling("reasoning_parser", "str", "--reasoning-parser"),
        _spelling("config_file", "str", "--config"),
    )
)

# The scheduler takes prompts shorter than max_req_input_len = min(context, pool) - 1 - 5 (`tp_worker.py`).
_PROMPT_MARGIN = 7
# It cuts max_new_tokens to min(context, pool) - 1 - prompt - 1 without a word.
_TOTAL_MARGIN = 2

# Failures of this certainty and less say that something died, not why.
_ONLY_DIED = 10

# Ids of ordinary tokens in the vocabulary of any model served: above the control tokens, below its end.
_FIRST_ID, _IDS = 100, 4900


class SGLang:
    """The tables of SGLang."""

    name = "sglang"
    spellings = _SPELLINGS
    flags = sglang_flags.FLAGS

    def resolve_flag(self, word: str) -> str | None:
        return sglang_flags.resolve(word)

    def parse_value(self, setting: str, text: str) -> int | float | str:
        """See `Engine.parse_value`; switches are 1 and 0."""
        spelling = _SPELLINGS.get(setting)
        if spelling is None:
            raise ValueError(f"sglang has no setting {setting!r}")
        try:
            return PARSERS[spelling.kind](text)
        except ValueError as error:
            raise ValueError(f"{setting}: {error}") from None

    def status_requests(self) -> Sequence[Request]:
        """The model and its context, the server's own account, and what is running.

        `/health` is not among them: it generates a token and takes a second. `/server_info` and `/v1/loads` are 404
        before 0.5.8; since then the old name leaves a warning in the log.
        """
        return (
            Request("GET", "/v1/models"),
            Request("GET", "/server_info"),
            Request("GET", "/get_server_info", unless="/server_info"),
            Request("GET", "/v1/loads"),
        )

    def read_serving(self, replies: Mapping[str, Reply]) -> Serving:
        return sglang_replies.serving(replies, self.largest_request)

    def read_log(self, line: str) -> LogLine | None:
        return sglang_log.read_log(line)

    def failure_cause(self, lines: Sequence[LogLine]) -> LogLine | None:
        """See `Engine.failure_cause`.

        Where all lines only say that something died, what the engine complained of just before is the cause: up to
        0.4.5 a prompt longer than the pool ended the scheduler.
        """
        cause = most_certain(lines)
        if cause is not None and cause.certainty <= _ONLY_DIED:
            before = lines[max(lines.index(cause) - 1, 0)]
            if before.kind == "pressure" and before.cause:
                return before
        return cause

    def probe(self, prompt_tokens: int, output_tokens: int, request_id: str) -> Request:
        """See `Engine.probe`. The prompt is token ids drawn from `request_id`.

        Two request ids share no beginning, so nothing of a new prompt is in the prefix cache; the same id gives the
        same prompt.
        """
        drawn = hashlib.shake_256(request_id.encode()).digest(2 * prompt_tokens)
        ids = [_FIRST_ID + number % _IDS for number in struct.unpack(f">{prompt_tokens}H", drawn)]
        body = {
            "rid": request_id,
            "input_ids": ids,
            "sampling_params": {
                "max_new_tokens": output_tokens,
                "min_new_tokens": output_tokens,
                "ignore_eos": True,
                "temperature": 0,
            },
        }
        # Slow enough for 200 prompt tokens and 2 output tokens a second.
        return Request(
            "POST", f"/generate?{OURS}", json=body, timeout_s=120.0 + prompt_tokens / 200 + output_tokens / 2
        )

    def read_generation(self, reply: Reply) -> Generation:
        return sglang_replies.generation(reply)

    def counters_request(self) -> Request:
        """Answered with `--enable-metrics` only."""
        return Request("GET", "/metrics")

    def read_counters(self, reply: Reply) -> Counters:
        return sglang_replies.counters(reply)

    def reset_cache(self) -> Request:
        """Refused with 400 while requests are in flight; resets the mean acceptance length, too."""
        return Request("POST", "/flush_cache")

    def abort(self, request_id: str) -> Request:
        return Request("POST", "/abort_request", json={"rid": request_id})

    def agrees(self, setting: str, given: str, served: str, slots: int = 1) -> bool:
        return same_value(self.parse_value, setting, given, served)

    def largest_request(
        self, context_length: int, pool_tokens: int, output_tokens: int, reserved_tokens: int = 0
    ) -> int:
        """See `Engine.largest_request`. `reserved_tokens`: what a draft holds back of the context (`Serving`)."""
        room = min(context_length, pool_tokens)
        most = min(
            room - _PROMPT_MARGIN,
            room - _TOTAL_MARGIN - output_tokens,
            context_length - 1 - reserved_tokens - output_tokens,
        )
        return max(most, 0)


ENGINES = (SGLang(),)
