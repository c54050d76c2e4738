"""SGLang: how it spells settings, what it is asked over HTTP and what it answers.

Read from the releases 0.4.6 to 0.5.23. Its flags are in `sglang_flags`, its replies in `sglang_replies`, its
log lines in `sglang_log`.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence

from console.engines import sglang_flags, sglang_log, sglang_replies
from console.engines.alike import Alike, spelled, table
from console.engines.base import Generation, LogLine, Reply, Request
from console.engines.logtable import most_certain
from console.engines.marks import OURS
from console.engines.metrics import Counters
from console.schema.serving import Serving

_SPELLINGS = table(
    spelled("context_length", "human_int", "--context-length"),
    spelled("mem_fraction", "float", "--mem-fraction-static"),
    spelled("kv_cache_dtype", "str", "--kv-cache-dtype"),
    spelled("max_total_tokens", "human_int", "--max-total-tokens"),
    spelled("max_prefill_tokens", "human_int", "--max-prefill-tokens"),
    spelled("max_running_requests", "int", "--max-running-requests"),
    spelled("chunked_prefill_size", "int", "--chunked-prefill-size"),
    spelled("page_size", "int", "--page-size"),
    spelled("tensor_parallel", "int", "--tp-size", "--tensor-parallel-size"),
    spelled("data_parallel", "int", "--dp-size", "--data-parallel-size"),
    spelled("pipeline_parallel", "int", "--pp-size", "--pipeline-parallel-size"),
    spelled("expert_parallel", "int", "--ep-size", "--expert-parallel-size", "--ep"),
    spelled("decode_context_parallel", "int", "--dcp-size", "--decode-context-parallel-size"),
    spelled("attention_data_parallel", "int", "--attn-dp-size", "--attention-data-parallel-size"),
    spelled("dp_attention", "flag", "--enable-dp-attention"),
    spelled("model_path", "str", "--model-path", "--model"),
    spelled("served_model_name", "str", "--served-model-name"),
    spelled("tokenizer_path", "str", "--tokenizer-path"),
    spelled("trust_remote_code", "flag", "--trust-remote-code"),
    spelled("dtype", "str", "--dtype"),
    spelled("quantization", "str", "--quantization"),
    spelled("host", "str", "--host"),
    spelled("port", "int", "--port"),
    spelled("api_key", "str", "--api-key"),
    spelled("admin_api_key", "str", "--admin-api-key"),
    spelled("attention_backend", "str", "--attention-backend"),
    spelled("speculative_algorithm", "str", "--speculative-algorithm"),
    spelled("draft_model_path", "str", "--speculative-draft-model-path", "--speculative-draft-model"),
    spelled("draft_steps", "int", "--speculative-num-steps"),
    spelled("draft_top_k", "int", "--speculative-eagle-topk"),
    spelled("draft_tokens", "int", "--speculative-num-draft-tokens"),
    spelled("draft_kv_cache_dtype", "str", "--speculative-draft-kv-cache-dtype"),
    spelled("cuda_graph_max_batch", "int", "--cuda-graph-max-bs"),
    spelled("disable_cuda_graph", "flag", "--disable-cuda-graph"),
    spelled("disable_prefix_cache", "flag", "--disable-radix-cache"),
    spelled("metrics", "flag", "--enable-metrics"),
    spelled("cache_report", "flag", "--enable-cache-report"),
    spelled("decode_log_interval", "int", "--decode-log-interval"),
    spelled("watchdog_timeout", "float", "--watchdog-timeout"),
    spelled("skip_warmup", "flag", "--skip-server-warmup"),
    spelled("truncate_long_prompts", "flag", "--allow-auto-truncate"),
    spelled("tool_call_parser", "str", "--tool-call-parser"),
    spelled("reasoning_parser", "str", "--reasoning-parser"),
    spelled("config_file", "str", "--config"),
)

# The scheduler takes prompts shorter than max_req_input_len = min(context, pool) - 1 - 5 (`tp_worker.py`).
_PROMPT_MARGIN = 7
# It cuts max_new_tokens to min(context, pool) - 1 - prompt - 1 without a word.
_TOTAL_MARGIN = 2

# Failures of this certainty and less say that something died, not why.
_ONLY_DIED = 10

# Ids of ordinary tokens in the vocabulary of any model served: above the control tokens, below its end.
_FIRST_ID, _IDS = 100, 4900


class SGLang(Alike):
    """The tables of SGLang."""

    name = "sglang"
    spellings = _SPELLINGS
    flags = sglang_flags.FLAGS

    def resolve_flag(self, word: str) -> str | None:
        return sglang_flags.resolve(word)

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

    def read_counters(self, reply: Reply) -> Counters:
        return sglang_replies.counters(reply)

    def reset_cache(self) -> Request:
        """Refused with 400 while requests are in flight; resets the mean acceptance length, too."""
        return Request("POST", f"/flush_cache?{OURS}")

    def abort(self, request_id: str) -> Request:
        return Request("POST", f"/abort_request?{OURS}", json={"rid": request_id})

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
