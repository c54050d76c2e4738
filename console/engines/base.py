"""What the rest of the program may ask of an engine: spellings, requests and replies, log lines, failure causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from console.engines.metrics import Counters
from console.schema.serving import Serving

ValueKind = Literal["int", "human_int", "float", "str", "flag"]

LineKind = Literal[
    "args",  # the engine printed its own arguments
    "weights",  # loading weights; done/total where the line says so
    "pool",  # KV pool allocated; value = tokens
    "limits",  # the summary line: pool tokens and context
    "graphs",  # capturing graphs; done/total where the line says so
    "listening",  # the port is bound; the warm-up is still to come
    "ready",  # accepts requests
    "decode",
    "prefill",
    "access",  # an HTTP access line
    "pressure",  # the pool is full, requests are retracted or refused
    "failure",  # says why a start failed
    "stopping",
]


@dataclass(frozen=True)
class Spelling:
    """How an engine writes one setting. `flags[0]` is what we write; the others are its aliases."""

    setting: str
    flags: tuple[str, ...]
    kind: ValueKind
    environment: tuple[str, ...] = ()


@dataclass(frozen=True)
class LogLine:
    """One line of an engine's log as its table reads it."""

    kind: LineKind
    text: str
    values: Mapping[str, float | int | str] = field(default_factory=dict)
    done: int | None = None
    total: int | None = None
    cause: str = ""  # failures: a short stable word such as "out-of-memory"
    certainty: int = 0  # failures: the highest one in a start is the cause


@dataclass(frozen=True)
class Reply:
    """An HTTP answer, or the lack of one (`status` 0, `error` says why)."""

    status: int
    body: bytes = b""
    error: str = ""
    duration_s: float = 0.0


_GENERATIONS = frozenset({"/generate", "/v1/completions", "/v1/chat/completions", "/completion", "/completions"})


@dataclass(frozen=True)
class Request:
    """One HTTP request to the engine, relative to its base URL."""

    method: Literal["GET", "POST"]
    path: str
    json: Mapping[str, Any] | None = None
    timeout_s: float = 10.0
    unless: str = ""  # a path; not worth sending once that one was answered with 200

    @property
    def generates(self) -> bool:
        """Whether a client would send it: before prefill and decode apart it goes to their router."""
        return self.method == "POST" and self.path.partition("?")[0] in _GENERATIONS


@dataclass(frozen=True)
class Generation:
    """What the engine reported of one generation; counts are the server's, never ours."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    server_time_s: float | None
    verify_steps: int | None
    finish_reason: str | None
    error: str = ""
    text: str = field(default="", repr=False)
    accepted: tuple[int, ...] = ()  # steps that accepted 0, 1, 2 … tokens of their draft


class Engine(Protocol):
    """An engine's tables. Implementations are stateless; everything here is pure."""

    @property
    def name(self) -> str: ...

    @property
    def spellings(self) -> Mapping[str, Spelling]:
        """Engine-neutral setting name → spelling."""
        ...

    @property
    def flags(self) -> frozenset[str]:
        """Every long flag known, for unambiguous prefixes (argparse accepts `--context-len`)."""
        ...

    @property
    def tells_window(self) -> bool:
        """Whether the running engine says which context it serves; without that no new one can be proven."""
        ...

    def parse_value(self, setting: str, text: str) -> int | float | str:
        """The value a word means: `200k` → 200000 for `context_length`. Raises ValueError with the reason."""
        ...

    def resolve_flag(self, word: str) -> str | None:
        """The full flag a word such as `--context-len` or `--tp` means; None if it is ambiguous or not a flag."""
        ...

    def status_requests(self) -> Sequence[Request]:
        """Cheap GETs whose replies `read_serving` understands, in the order to try; none of them generates."""
        ...

    def read_serving(self, replies: Mapping[str, Reply]) -> Serving:
        """Path → reply, as sent by `status_requests`."""
        ...

    def read_log(self, line: str) -> LogLine | None:
        r"""One line (split at \n and \r) of the journal, or None where it says nothing we know."""
        ...

    def failure_cause(self, lines: Sequence[LogLine]) -> LogLine | None:
        """The line that says why a start failed, out of all `failure` lines of that start."""
        ...

    def probe(self, prompt_tokens: int, output_tokens: int, request_id: str) -> Request:
        """A generation of exactly this size, temperature 0, no early stop."""
        ...

    def read_generation(self, reply: Reply) -> Generation: ...

    def counters_request(self) -> Request:
        """What the engine counts, for `read_counters`; 404 and the like where it was not told to say it."""
        ...

    def read_counters(self, reply: Reply) -> Counters: ...

    def reset_cache(self) -> Request | None:
        """Forget the prefix cache; None where the engine cannot, or only one request at a time can do without it."""
        ...

    def abort(self, request_id: str) -> Request | None:
        """Stop one request; None where closing its connection is the only way."""
        ...

    def agrees(self, setting: str, given: str, served: str, slots: int = 1) -> bool:
        """Whether an instance given `given` reports `served`, as far as rounding and slots go. Never raises."""
        ...

    def largest_request(
        self, context_length: int, pool_tokens: int, output_tokens: int, reserved_tokens: int = 0
    ) -> int:
        """Prompt tokens of the largest request that such an instance accepts with this many output tokens.

        `reserved_tokens` is what `Serving.reserved_tokens` says a draft holds back.
        """
        ...
