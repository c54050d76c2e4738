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
from console.engines.base import Generation, LogLine, Reply, Request, Spelling, ValueKind
from console.engines.logtable import most_certain
from console.engines.metrics import Counters
from console.engines.values import PARSERS, same_value
from console.schema.serving import Serving


def _spelling(setting: str, kind: ValueKind, flags: tuple[str, ...], variable: str = "") -> tuple[str, Spelling]:
    return setting, Spelling(setting, flags, kind, (variable,) if variable else ())


_SPELLINGS: Mapping[str, Spelling] = dict(
    (
        _spelling("context_length", "int", ("--ctx-size", "-c"), "LLAMA_ARG_CTX_SIZE"),
        _spelling("max_running_requests", "int", ("--parallel", "-np"), "LLAMA_ARG_N_PARALLEL"),
        _spelling("max_prefill_tokens", "int", ("--batch-size", "-b"), "LLAMA_ARG_BATCH"),
        _spelling("chunked_prefill_size", "int", ("--ubatch-size", "-ub"), "LLAMA_ARG_UBATCH"),
        _spelling("model_path", "str", ("--model", "-m"), "LLAMA_ARG_MODEL"),
        _spelling("served_model_name", "str", ("--alias", "-a"), "LLAMA_ARG_ALIAS"),
        _spelling("host", "str", ("--host",), "LLAMA_ARG_HOST"),
        _spelling("port", "int", ("--port",), "LLAMA_ARG_PORT"),
        _spelling("api_key", "str", ("--api-key",), "LLAMA_API_KEY"),
        _spelling("draft_model_path", "str", ("--spec-draft-model", "--model-draft", "-md")),
        _spelling("draft_tokens", "int", ("--spec-draft-n-max", "--draft-max", "--draft", "--draft-n")),
        _spelling("metrics", "flag", ("--metrics",), "LLAMA_ARG_ENDPOINT_METRICS"),
        _spelling("skip_warmup", "flag", ("--no-warmup",)),
        _spelling("config_file", "str", ("--models-preset",), "LLAMA_ARG_MODELS_PRESET"),
    )
)

# It rounds the window up to whole blocks of the cache (`GGML_PAD(n_ctx, 256)`).
BLOCK = 256
_FIRST_ID, _IDS = 300, 4900  # above the bytes of the vocabulary


class LlamaCpp:
    """The tables of llama.cpp's server."""

    name = "llamacpp"
    spellings = _SPELLINGS
    flags = llamacpp_flags.KNOWN

    def resolve_flag(self, word: str) -> str | None:
        return llamacpp_flags.resolve(word)

    def parse_value(self, setting: str, text: str) -> int | float | str:
        """See `Engine.parse_value`; a window of 0 is the one the model was trained with."""
        spelling = _SPELLINGS.get(setting)
        if spelling is None:
            raise ValueError(f"llamacpp has no setting {setting!r}")
        try:
            return PARSERS[spelling.kind](text)
        except ValueError as error:
            raise ValueError(f"{setting}: {error}") from None

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

    def failure_cause(self, lines: Sequence[LogLine]) -> LogLine | None:
        return most_certain(lines)

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

    def counters_request(self) -> Request:
        """Answered with `--metrics` only, 501 otherwise."""
        return Request("GET", "/metrics")

    def read_counters(self, reply: Reply) -> Counters:
        return llamacpp_replies.counters(reply)

    def reset_cache(self) -> None:
        """A request says `cache_prompt: false` for itself; there is no word for all."""
        return

    def abort(self, request_id: str) -> None:
        """Only closing the connection stops a request."""
        return

    def agrees(self, setting: str, given: str, served: str, slots: int = 1) -> bool:
        """The window is rounded up to blocks, and a slot serves its share of it; 0 agrees with any."""
        if setting != "context_length":
            return same_value(self.parse_value, setting, given, served)
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
