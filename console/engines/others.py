"""Engines that are known by name and read where that is simple; what we cannot do safely with them is refused.

Ollama, TGI, TensorRT-LLM, llama-cpp-python; and LiteLLM, a proxy without a window of its own. They log in ways of their
own, so a start is followed by what their port answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from console.engines import others_log
from console.engines.alike import Alike, table
from console.engines.base import Generation, LogLine, Reply, Request, Spelling
from console.engines.bodies import as_count, as_dict, as_list, as_text, error_text, no_generation, object_of, read_json
from console.engines.bodies import status_text as status_text_of
from console.engines.metrics import Counters
from console.schema.serving import Serving


@dataclass(frozen=True)
class OtherEngine(Alike):
    """An engine of which only spellings, its model list and its version are read."""

    name: str
    spellings: Mapping[str, Spelling]
    status_paths: tuple[str, ...] = ("/v1/models",)
    window_key: tuple[str, str] = ("", "")  # path and key of the window in its own account
    flags: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        spelled = {flag for each in self.spellings.values() for flag in each.flags if flag.startswith("--")}
        object.__setattr__(self, "flags", frozenset(spelled))

    @property
    def tells_window(self) -> bool:
        return bool(self.window_key[0])

    def resolve_flag(self, word: str) -> str | None:
        name = word.partition("=")[0]
        return name if name in self.flags else None

    def status_requests(self) -> Sequence[Request]:
        return tuple(Request("GET", path) for path in self.status_paths)

    def read_serving(self, replies: Mapping[str, Reply]) -> Serving:
        """The model, and the window where its own account has it."""
        cards = [item for item in as_list(object_of(replies.get("/v1/models")).get("data")) if isinstance(item, dict)]
        path, key = self.window_key
        window = as_count(object_of(replies.get(path)).get(key)) if path else None
        version = next((as_text(object_of(reply).get("version")) for reply in replies.values()), "")
        return Serving(
            model=as_text(cards[0].get("id")) or None if cards else None,
            version=version or None,
            context_length=window,
            refused=any(reply.status in (401, 403) for reply in replies.values()),
        )

    def read_log(self, line: str) -> LogLine | None:
        return others_log.read_log(self.name, line)

    def probe(self, prompt_tokens: int, output_tokens: int, request_id: str) -> Request:
        """Words of one token each, about: it takes no token ids."""
        words = " ".join(
            f"w{ord(letter) % 10}" for letter in (request_id * (prompt_tokens // 8 + 1))[: prompt_tokens // 2]
        )
        body = {"prompt": words, "max_tokens": output_tokens, "temperature": 0}
        return Request("POST", "/v1/completions", json=body, timeout_s=120.0 + prompt_tokens / 50 + output_tokens)

    def read_generation(self, reply: Reply) -> Generation:
        body = as_dict(read_json(reply.body))
        usage = as_dict(body.get("usage"))
        if reply.status != 200 or not usage:
            return no_generation(error_text(body) or reply.error or status_text_of(reply))
        return Generation(
            as_count(usage.get("prompt_tokens")), as_count(usage.get("completion_tokens")), None, None, None, None
        )

    def read_counters(self, reply: Reply) -> Counters:
        return Counters(error=f"the counters of {self.name} are not read")

    def largest_request(
        self, context_length: int, pool_tokens: int, output_tokens: int, reserved_tokens: int = 0
    ) -> int:
        return max(min(context_length, pool_tokens) - max(output_tokens, 1) - reserved_tokens, 0)


OLLAMA = OtherEngine(
    "ollama",
    table(
        Spelling("context_length", (), "int", ("OLLAMA_CONTEXT_LENGTH",)),
        Spelling("kv_cache_dtype", (), "str", ("OLLAMA_KV_CACHE_TYPE",)),
        Spelling("max_running_requests", (), "int", ("OLLAMA_NUM_PARALLEL",)),
    ),
    ("/v1/models", "/api/version"),
)
TGI = OtherEngine(
    "tgi",
    table(
        Spelling("context_length", ("--max-total-tokens",), "int", ("MAX_TOTAL_TOKENS",)),
        Spelling("model_path", ("--model-id",), "str", ("MODEL_ID",)),
        Spelling("port", ("--port", "-p"), "int", ("PORT",)),
    ),
    ("/info", "/v1/models"),
    ("/info", "max_total_tokens"),
)
TENSORRT_LLM = OtherEngine(
    "tensorrt-llm",
    table(
        Spelling("context_length", ("--max_seq_len",), "int"),
        Spelling("max_prefill_tokens", ("--max_num_tokens",), "int"),
        Spelling("mem_fraction", ("--kv_cache_free_gpu_memory_fraction", "--free_gpu_memory_fraction"), "float"),
        Spelling("port", ("--port",), "int"),
    ),
    ("/v1/models", "/version"),
)
LLAMA_CPP_PYTHON = OtherEngine(
    "llama-cpp-python",
    table(
        Spelling("context_length", ("--n_ctx",), "int"),
        Spelling("model_path", ("--model",), "str"),
        Spelling("port", ("--port",), "int"),
    ),
)
LITELLM = OtherEngine("litellm", {})

ENGINES = (OLLAMA, TGI, TENSORRT_LLM, LLAMA_CPP_PYTHON, LITELLM)
