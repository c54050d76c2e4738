"""What measuring asks of an engine: generations with its own counts, how busy it is, and how to take one back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from console.engines.base import Generation, Reply, Request
from console.engines.llamacpp_measuring import LlamaCppMeasuring
from console.engines.sglang_measuring import SGLangMeasuring
from console.engines.vllm_measuring import VLLMMeasuring
from console.errors import RefusedError
from console.schema.traffic import Counters, Traffic


@dataclass(frozen=True)
class Wanted:
    """One generation to ask for, greedy. `ignore_eos`: past the text's own end up to `output_tokens`, no fewer."""

    prompt: str | Sequence[int]  # text, or token ids
    output_tokens: int
    request_id: str
    ignore_eos: bool = True
    stream: bool = False

    @property
    def limit_s(self) -> float:
        """Slow enough for 200 prompt tokens and 2 output tokens a second."""
        prompt_tokens = len(self.prompt) / (4 if isinstance(self.prompt, str) else 1)
        return 120.0 + prompt_tokens / 200 + self.output_tokens / 2


class Measuring(Protocol):
    """An engine's side of a measurement. Stateless and pure, as `Engine`."""

    def generate(self, wanted: Wanted) -> Request: ...

    def read(self, reply: Reply) -> Generation:
        """The answer to `generate`, with its text. No body makes it raise."""
        ...

    def read_part(self, line: str) -> Generation | None:
        """One line of a streamed answer: what was generated so far, by the engine's count; None where it says none."""
        ...

    def tokenize(self, text: str) -> Request: ...

    def read_tokens(self, reply: Reply) -> tuple[int, ...] | None:
        """The token ids of `tokenize`; None where the engine has no such endpoint."""
        ...

    def abort(self, request_id: str) -> Request | None:
        """Takes back exactly this request; None where only closing its connection does."""
        ...

    def traffic_requests(self) -> Sequence[Request]:
        """Cheap GETs whose replies `read_traffic` understands; none of them generates."""
        ...

    def read_traffic(self, replies: Mapping[str, Reply]) -> Traffic: ...

    def counters_request(self) -> Request | None: ...

    def read_counters(self, reply: Reply) -> Counters: ...

    def speculates(self, settings: Mapping[str, str]) -> bool | None:
        """Whether the engine's own account says that a draft is at work; None: it does not say."""
        ...


_MEASURING: Mapping[str, Measuring] = {
    "sglang": SGLangMeasuring(),
    "vllm": VLLMMeasuring(),
    "llamacpp": LlamaCppMeasuring(),
}


def measuring_of(engine: str) -> Measuring:
    """Raises RefusedError for an engine that is not measured yet."""
    try:
        return _MEASURING[engine]
    except KeyError:
        known = ", ".join(sorted(_MEASURING))
        raise RefusedError(f"measuring {engine} is not known yet", hint=f"engines that are: {known}") from None
