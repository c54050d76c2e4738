"""llama.cpp's server: how it spells settings, what it is asked over HTTP and what it answers.

Read from builds 4700 (2025-02) to 11434 (2026-10). Its options are in `llamacpp_flags`, its replies in
`llamacpp_replies`, its log lines in `llamacpp_log`. The window it is given is one pool that its slots share: each of
`--parallel N` slots gets a Nth of it unless the pool is unified, which is what no `--parallel` means.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence

from console.engines import llamacpp_flags, llamacpp_log, llamacpp_replies
from console.engines.alike import Alike, spelled, table
from console.engines.base import Generation, LogLine, Reply, Request
from console.engines.metrics import Counters
from console.schema.serving import Serving

_SPELLINGS = table(
    spelled("context_length", "int", "--ctx-size", "-c", variable="LLAMA_ARG_CTX_SIZE"),
    spelled("max_running_requests", "int", "--parallel", "-np", variable="LLAMA_ARG_N_PARALLEL"),
    spelled("max_prefill_tokens", "int", "--batch-size", "-b", variable="LLAMA_ARG_BATCH"),
    spelled("chunked_prefill_size", "int", "--ubatch-size", "-ub", variable="LLAMA_ARG_UBATCH"),
    spelled("model_path", "str", "--model", "-m", variable="LLAMA_ARG_MODEL"),
    spelled("served_model_name", "str", "--alias", "-a", variable="LLAMA_ARG_ALIAS"),
    spelled("host", "str", "--host", variable="LLAMA_ARG_HOST"),
    spelled("port", "int", "--port", variable="LLAMA_ARG_PORT"),
    spelled("api_key", "str", "--api-key", variable="LLAMA_API_KEY"),
    spelled("draft_model_path", "str", "--spec-draft-model", "--model-draft", "-md"),
    spelled("draft_tokens", "int", "--spec-draft-n-max", "--draft-max", "--draft", "--draft-n"),
    spelled("metrics", "flag", "--metrics", variable="LLAMA_ARG_ENDPOINT_METRICS"),
    spelled("skip_warmup", "flag", "--no-warmup"),
    spelled("config_file", "str", "--models-preset", variable="LLAMA_ARG_MODELS_PRESET"),
)

# It rounds the window up to whole blocks of the cache (`GGML_PAD(n_ctx, 256)`).
BLOCK = 256
_FIRST_ID, _IDS = 300, 4900  # above the bytes of the vocabulary


class LlamaCpp(Alike):
    """The tables of llama.cpp's server."""

    name = "llamacpp"
    spellings = _SPELLINGS
    flags = llamacpp_flags.KNOWN

    def resolve_flag(self, word: str) -> str | None:
        return llamacpp_flags.resolve(word)

    def status_requests(self) -> Sequence[Request]:
        """Slots and their window, the model, the counters. All of them are 503 while the model loads."""
        return (
            Request("GET", "/props"),
            Request("GET", "/v1/models"),
            Request("GET", "/slots"),
            Request("GET", "/metrics"),
        )

    def read_serving(self, replies: Mapping[str, Reply]) -> Serving:
        return llamacpp_replies.serving(replies, self.largest_request)

    def read_log(self, line: str) -> LogLine | None:
        return llamacpp_log.read_log(line)

    def probe(self, prompt_tokens: int, output_tokens: int, request_id: str) -> Request:
        """See `Engine.probe`: token ids drawn from `request_id`, and nothing taken from the prompt cache."""
        drawn = hashlib.shake_256(request_id.encode()).digest(2 * prompt_tokens)
        body = {
            "prompt": [_FIRST_ID + number % _IDS for number in struct.unpack(f">{prompt_tokens}H", drawn)],
            "n_predict": output_tokens,
            "ignore_eos": True,
            "cache_prompt": False,
            "temperature": 0,
        }
        return Request("POST", "/completion", json=body, timeout_s=120.0 + prompt_tokens / 50 + output_tokens)

    def read_generation(self, reply: Reply) -> Generation:
        return llamacpp_replies.generation(reply)

    def read_counters(self, reply: Reply) -> Counters:
        return llamacpp_replies.counters(reply)

    def agrees(self, setting: str, given: str, served: str, slots: int = 1) -> bool:
        """The window is rounded up to blocks, and a slot serves its share of it; 0 agrees with any."""
        if setting != "context_length":
            return super().agrees(setting, given, served, slots)
        try:
            wanted, have = int(given), int(served)
        except ValueError:
            return given == served
        share = _rounded(wanted) // max(slots, 1)
        return wanted == 0 or have in (wanted, _rounded(wanted), wanted // max(slots, 1), share, _rounded(share))

    def largest_request(
        self, context_length: int, pool_tokens: int, output_tokens: int, reserved_tokens: int = 0
    ) -> int:
        """See `Engine.largest_request`: a slot stops one token before its window is full."""
        room = min(context_length, pool_tokens)
        return max(room - 1 - max(output_tokens, 1) - reserved_tokens, 0)


def _rounded(tokens: int) -> int:
    return (tokens + BLOCK - 1) // BLOCK * BLOCK


ENGINES = (LlamaCpp(),)
