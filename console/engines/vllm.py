"""vLLM: how it spells settings, what it is asked over HTTP and what it answers.

Read from the releases 0.6 to 0.33. Its flags are in `vllm_flags`, its replies in `vllm_replies`, its log lines in
`vllm_log`.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from console.engines import vllm_flags, vllm_log, vllm_replies
from console.engines.alike import Alike, spelled, table
from console.engines.base import Generation, LogLine, Reply, Request, ValueKind
from console.engines.marks import OURS
from console.engines.metrics import Counters
from console.engines.values import PARSERS
from console.schema.serving import Serving

_SPELLINGS = table(
    spelled("context_length", "human_int", "--max-model-len"),
    spelled("mem_fraction", "float", "--gpu-memory-utilization", "--device-memory-utilization"),
    spelled("kv_cache_dtype", "str", "--kv-cache-dtype"),
    spelled("max_prefill_tokens", "human_int", "--max-num-batched-tokens"),
    spelled("max_running_requests", "int", "--max-num-seqs"),
    spelled("page_size", "int", "--block-size"),
    spelled("tensor_parallel", "int", "--tensor-parallel-size", "-tp"),
    spelled("data_parallel", "int", "--data-parallel-size", "-dp"),
    spelled("pipeline_parallel", "int", "--pipeline-parallel-size", "-pp"),
    spelled("decode_context_parallel", "int", "--decode-context-parallel-size", "-dcp"),
    spelled("model_path", "str", "--model"),
    spelled("served_model_name", "str", "--served-model-name"),
    spelled("tokenizer_path", "str", "--tokenizer"),
    spelled("trust_remote_code", "flag", "--trust-remote-code"),
    spelled("dtype", "str", "--dtype"),
    spelled("quantization", "str", "--quantization", "-q"),
    spelled("host", "str", "--host"),
    spelled("port", "int", "--port"),
    spelled("api_key", "str", "--api-key"),
    spelled("attention_backend", "str", "--attention-backend"),
    spelled("disable_cuda_graph", "flag", "--enforce-eager"),
    spelled("cache_report", "flag", "--enable-prompt-tokens-details"),
    spelled("tool_call_parser", "str", "--tool-call-parser"),
    spelled("reasoning_parser", "str", "--reasoning-parser"),
    spelled("config_file", "str", "--config"),
)

# Lower-case suffixes are decimal, upper-case ones binary (`human_readable_int`).
_SUFFIXES = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_FIRST_ID, _IDS = 100, 4900


def _human_integer(text: str) -> int:
    """`200k` = 200000, `200K` = 204800, `25.6k` = 25600; `auto`, the longest window that fits, = -1."""
    stripped = text.strip()
    if stripped == "auto":
        return -1
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kmgtKMGT])", stripped)
    if match is None:
        try:
            return int(stripped)
        except ValueError:
            raise ValueError(f"{text!r} is not a whole number such as 200000, 200k (200000) or 200K (204800)") from None
    digits, suffix = match.groups()
    if "." in digits and suffix.isupper():
        raise ValueError(f"{text!r}: no decimals before {suffix}")
    return int(Decimal(digits) * _SUFFIXES[suffix])


_PARSERS: Mapping[ValueKind, Callable[[str], int | float | str]] = {**PARSERS, "human_int": _human_integer}


class VLLM(Alike):
    """The tables of vLLM."""

    name = "vllm"
    spellings = _SPELLINGS
    flags = vllm_flags.FLAGS
    parsers = _PARSERS

    def resolve_flag(self, word: str) -> str | None:
        return vllm_flags.resolve(word)

    def status_requests(self) -> Sequence[Request]:
        """The model and its window, the version, and the counters, which also say how large the pool is.

        HTTP is served only once the engine is ready. All of these cost next to nothing.
        """
        return (Request("GET", "/v1/models"), Request("GET", "/version"), Request("GET", "/metrics"))

    def read_serving(self, replies: Mapping[str, Reply]) -> Serving:
        return vllm_replies.serving(replies, self.largest_request)

    def read_log(self, line: str) -> LogLine | None:
        return vllm_log.read_log(line)

    def probe(self, prompt_tokens: int, output_tokens: int, request_id: str) -> Request:
        """See `Engine.probe`: token ids drawn from `request_id`, so that no two share a beginning."""
        drawn = hashlib.shake_256(request_id.encode()).digest(2 * prompt_tokens)
        body = {
            "request_id": request_id,
            "prompt": [_FIRST_ID + number % _IDS for number in struct.unpack(f">{prompt_tokens}H", drawn)],
            "max_tokens": output_tokens,
            "min_tokens": output_tokens,
            "ignore_eos": True,
            "temperature": 0,
        }
        limit_s = 120.0 + prompt_tokens / 200 + output_tokens / 2
        return Request("POST", f"/v1/completions?{OURS}", json=body, timeout_s=limit_s)

    def read_generation(self, reply: Reply) -> Generation:
        return vllm_replies.generation(reply)

    def read_counters(self, reply: Reply) -> Counters:
        return vllm_replies.counters(reply)

    def reset_cache(self) -> Request:
        """404 unless VLLM_SERVER_DEV_MODE=1."""
        return Request("POST", f"/reset_prefix_cache?{OURS}")

    def agrees(self, setting: str, given: str, served: str, slots: int = 1) -> bool:
        """`auto` agrees with any window."""
        if setting == "context_length" and given.strip() in ("auto", "-1"):
            return True
        return super().agrees(setting, given, served, slots)

    def largest_request(
        self, context_length: int, pool_tokens: int, output_tokens: int, reserved_tokens: int = 0
    ) -> int:
        """See `Engine.largest_request`: prompt and output together may fill the window."""
        return max(min(context_length, pool_tokens) - max(output_tokens, 1) - reserved_tokens, 0)


ENGINES = (VLLM(),)
