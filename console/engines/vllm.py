"""vLLM: how it spells settings, what it is asked over HTTP and what it answers.

Read from the releases 0.6 to 0.33. Its flags are in `vllm_flags`, its replies in `vllm_replies`, its log lines in
`vllm_log`.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal

from console.engines import vllm_flags, vllm_log, vllm_replies
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
        _spelling("context_length", "human_int", "--max-model-len"),
        _spelling("mem_fraction", "float", "--gpu-memory-utilization", "--device-memory-utilization"),
        _spelling("kv_cache_dtype", "str", "--kv-cache-dtype"),
        _spelling("max_prefill_tokens", "human_int", "--max-num-batched-tokens"),
        _spelling("max_running_requests", "int", "--max-num-seqs"),
        _spelling("page_size", "int", "--block-size"),
        _spelling("tensor_parallel", "int", "--tensor-parallel-size", "-tp"),
        _spelling("data_parallel", "int", "--data-parallel-size", "-dp"),
        _spelling("pipeline_parallel", "int", "--pipeline-parallel-size", "-pp"),
        _spelling("decode_context_parallel", "int", "--decode-context-parallel-size", "-dcp"),
        _spelling("model_path", "str", "--model"),
        _spelling("served_model_name", "str", "--served-model-name"),
        _spelling("tokenizer_path", "str", "--tokenizer"),
        _spelling("trust_remote_code", "flag", "--trust-remote-code"),
        _spelling("dtype", "str", "--dtype"),
        _spelling("quantization", "str", "--quantization", "-q"),
        _spelling("host", "str", "--host"),
        _spelling("port", "int", "--port"),
        _spelling("api_key", "str", "--api-key"),
        _spelling("attention_backend", "str", "--attention-backend"),
        _spelling("disable_cuda_graph", "flag", "--enforce-eager"),
        _spelling("cache_report", "flag", "--enable-prompt-tokens-details"),
        _spelling("tool_call_parser", "str", "--tool-call-parser"),
        _spelling("reasoning_parser", "str", "--reasoning-parser"),
        _spelling("config_file", "str", "--config"),
    )
)

# Lower-case suffixes are decimal, upper-case ones binary (`human_readable_int`).
_SUFFIXES = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_FIRST_ID, _IDS = 100, 4900


class VLLM:
    """The tables of vLLM."""

    name = "vllm"
    spellings = _SPELLINGS
    flags = vllm_flags.FLAGS

    def resolve_flag(self, word: str) -> str | None:
        return vllm_flags.resolve(word)

    def parse_value(self, setting: str, text: str) -> int | float | str:
        """See `Engine.parse_value`; -1 is `auto`, the longest window that fits."""
        spelling = _SPELLINGS.get(setting)
        if spelling is None:
            raise ValueError(f"vllm has no setting {setting!r}")
        try:
            return _human_integer(text) if spelling.kind == "human_int" else PARSERS[spelling.kind](text)
        except ValueError as error:
            raise ValueError(f"{setting}: {error}") from None

    def status_requests(self) -> Sequence[Request]:
        """The model and its window, the version, and the counters, which also say how large the pool is.

        HTTP is served only once the engine is ready. All of these cost next to nothing.
        """
        return (Request("GET", "/v1/models"), Request("GET", "/version"), Request("GET", "/metrics"))

    def read_serving(self, replies: Mapping[str, Reply]) -> Serving:
        return vllm_replies.serving(replies, self.largest_request)

    def read_log(self, line: str) -> LogLine | None:
        return vllm_log.read_log(line)

    def failure_cause(self, lines: Sequence[LogLine]) -> LogLine | None:
        return most_certain(lines)

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

    def counters_request(self) -> Request:
        """Always answered, and without a key."""
        return Request("GET", "/metrics")

    def read_counters(self, reply: Reply) -> Counters:
        return vllm_replies.counters(reply)

    def reset_cache(self) -> Request:
        """404 unless VLLM_SERVER_DEV_MODE=1."""
        return Request("POST", "/reset_prefix_cache")

    def abort(self, request_id: str) -> None:
        """Only closing the connection stops a request."""
        return

    def agrees(self, setting: str, given: str, served: str, slots: int = 1) -> bool:
        """`auto` agrees with any window."""
        if setting == "context_length" and given.strip() in ("auto", "-1"):
            return True
        return same_value(self.parse_value, setting, given, served)

    def largest_request(
        self, context_length: int, pool_tokens: int, output_tokens: int, reserved_tokens: int = 0
    ) -> int:
        """See `Engine.largest_request`: prompt and output together may fill the window."""
        return max(min(context_length, pool_tokens) - max(output_tokens, 1) - reserved_tokens, 0)


def _human_integer(text: str) -> int:
    """`200k` = 200000, `200K` = 204800, `25.6k` = 25600, `auto` = -1."""
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


ENGINES = (VLLM(),)
