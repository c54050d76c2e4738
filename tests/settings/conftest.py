"""Engines made of one small table each, so that the tests of settings stand on nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from console.engines.base import Engine, Generation, LogLine, Reply, Request, Spelling
from console.engines.metrics import Counters
from console.schema.serving import Serving


@dataclass(frozen=True)
class TableEngine:
    """Only spellings and flags; it is never asked anything else."""

    name: str
    spellings: Mapping[str, Spelling]
    more_flags: tuple[str, ...] = ()
    tells_window: bool = True
    flags: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        spelled = {flag for spelling in self.spellings.values() for flag in spelling.flags if flag.startswith("--")}
        object.__setattr__(self, "flags", frozenset(spelled | set(self.more_flags)))

    def parse_value(self, setting: str, text: str) -> int | float | str:
        kind = self.spellings[setting].kind
        if kind == "human_int" and text.endswith("k"):
            return int(text[:-1]) * 1000
        if kind in ("int", "human_int"):
            return int(text)
        return float(text) if kind == "float" else text

    def resolve_flag(self, word: str) -> str | None:
        if word in self.flags:
            return word
        begun = [flag for flag in self.flags if word.startswith("--") and len(word) > 2 and flag.startswith(word)]
        return begun[0] if len(begun) == 1 else None

    def status_requests(self) -> Sequence[Request]:
        raise NotImplementedError

    def read_serving(self, replies: Mapping[str, Reply]) -> Serving:
        raise NotImplementedError

    def read_log(self, line: str) -> LogLine | None:
        raise NotImplementedError

    def failure_cause(self, lines: Sequence[LogLine]) -> LogLine | None:
        raise NotImplementedError

    def probe(self, prompt_tokens: int, output_tokens: int, request_id: str) -> Request:
        raise NotImplementedError

    def read_generation(self, reply: Reply) -> Generation:
        raise NotImplementedError

    def counters_request(self) -> Request:
        raise NotImplementedError

    def read_counters(self, reply: Reply) -> Counters:
        raise NotImplementedError

    def reset_cache(self) -> Request | None:
        raise NotImplementedError

    def abort(self, request_id: str) -> Request | None:
        raise NotImplementedError

    def agrees(self, setting: str, given: str, served: str, slots: int = 1) -> bool:
        return self.parse_value(setting, given) == self.parse_value(setting, served)

    def largest_request(
        self, context_length: int, pool_tokens: int, output_tokens: int, reserved_tokens: int = 0
    ) -> int:
        raise NotImplementedError


def _table(*spellings: Spelling) -> Mapping[str, Spelling]:
    return {spelling.setting: spelling for spelling in spellings}


@pytest.fixture(scope="session")
def engines() -> Mapping[str, Engine]:
    return {
        "sglang": TableEngine(
            "sglang",
            _table(
                Spelling("context_length", ("--context-length",), "human_int"),
                Spelling("mem_fraction", ("--mem-fraction-static",), "float"),
                Spelling("tensor_parallel", ("--tp-size", "--tensor-parallel-size"), "int"),
                Spelling("trust_remote_code", ("--trust-remote-code",), "flag"),
                Spelling("port", ("--port",), "int"),
                Spelling("api_key", ("--api-key",), "str"),
            ),
            more_flags=("--model-path", "--mem-saver", "--host"),
        ),
        "vllm": TableEngine(
            "vllm",
            _table(
                Spelling("context_length", ("--max-model-len",), "human_int"),
                Spelling("mem_fraction", ("--gpu-memory-utilization",), "float"),
            ),
            more_flags=("--max-num-seqs", "--max-num-batched-tokens"),
        ),
        "llamacpp": TableEngine(
            "llamacpp",
            _table(
                Spelling("context_length", ("--ctx-size", "-c"), "int", environment=("LLAMA_ARG_CTX_SIZE",)),
                Spelling("max_running_requests", ("--parallel", "-np"), "int"),
            ),
        ),
    }


@pytest.fixture
def sglang(engines: Mapping[str, Engine]) -> Engine:
    return engines["sglang"]
