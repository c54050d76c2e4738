"""What our tables read from one log, in the words of `expected.json`; and how an expectation compares with it.

A folder of cases is `*.txt` files beside one `expected.json`: a list of {file, engine, expect}. `expect` has a word for
each figure; those of `COMPARED` must be read, others are compared where we read them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from console.engines import others_log
from console.engines.base import LineKind, LogLine
from console.engines.logtable import most_certain, split_lines
from console.engines.progress import folded, starts
from console.engines.registry import engine_named
from console.facts.speed import clock_of

# What `journalctl` puts before a line unless it is asked for JSON, as the console asks.
_SHORT = re.compile(r"\A[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [\w.@:-]+\[\d+\]: ")
COMPARED = ("ready", "cause", "context_len", "max_total_num_tokens", "kv_tokens", "limit", "accept_len")
# Other people's words for a cause → ours.
SAME_CAUSE: Mapping[str, frozenset[str]] = {
    "cuda-oom-at-load": frozenset({"out-of-memory"}),
    "host-oom": frozenset({"host-out-of-memory"}),
    "not-enough-memory": frozenset({"no-memory-for-pool"}),
    "context>kv": frozenset({"context-longer-than-pool"}),
    "context>model": frozenset({"context-longer-than-model"}),
    "gpu-memory-held-by-other-process": frozenset({"gpu-memory-held"}),
    "warmup-oom": frozenset({"warmup-out-of-memory"}),
}


@dataclass(frozen=True)
class Case:
    """One file and what a reader should get from it."""

    path: Path
    engine: str
    expect: Mapping[str, Any]

    @property
    def id(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"


@dataclass(frozen=True)
class Judged:
    """One figure of one case. `right` None: not compared, because we do not read it."""

    case: str
    key: str
    expected: Any
    read: Any
    right: bool | None


def cases_in(folder: Path) -> list[Case]:
    """Every case below a folder. The engine is said by the case, or else by the folder's name."""
    found = []
    for table in sorted(folder.rglob("expected.json")):
        listed = json.loads(table.read_text(encoding="utf-8"))
        for one in listed if isinstance(listed, list) else []:
            engine = _engine(str(one.get("engine") or table.parent.name))
            path = table.parent / str(one.get("file"))
            if engine and "expect" in one and path.suffix == ".txt" and path.exists():
                found.append(Case(path, engine, one["expect"]))
    return found


ENGINES: Mapping[str, str] = {
    "sglang": "sglang",
    "vllm": "vllm",
    "llama": "llamacpp",
    "ollama": "ollama",
    "tensorrt": "tensorrt-llm",
    "trt": "tensorrt-llm",
    "tgi": "tgi",
    "text-gen": "tgi",
    "pytorch": "sglang",
    "nccl": "sglang",
}


def _engine(label: str) -> str:
    """`vLLM 0.19 TP8` → vllm. PyTorch's own lines are read by the tables of engines that run on it."""
    return next((name for begin, name in ENGINES.items() if label.lower().startswith(begin)), "")


def judged(case: Case) -> list[Judged]:
    """Every figure of a case."""
    read = Reading(case.engine, case.path.read_bytes().decode("utf-8", "replace"))
    told = []
    for key, expected in case.expect.items():
        value = read.value(key)
        if key not in COMPARED and value is None:
            told.append(Judged(case.id, key, expected, None, None))
        else:
            told.append(Judged(case.id, key, expected, value, read.agrees(key, expected)))
    return told


class Reading:
    """A log as the tables of its engine read it; the last start counts."""

    def __init__(self, engine: str, text: str) -> None:
        self.cause_of: Callable[[Sequence[LogLine]], LogLine | None] = most_certain
        reader: Callable[[str], LogLine | None] = partial(others_log.read_log, engine)
        if engine not in others_log.TABLES:
            reader, self.cause_of = engine_named(engine).read_log, engine_named(engine).failure_cause
        texts = (_SHORT.sub("", line) for line in split_lines(text))
        self.lines = [line for line in map(reader, texts) if line is not None]
        self.starts = starts(self.lines)
        self.last = self.starts[-1] if self.starts else []
        self.progress = folded(self.lines)
        self.text = text
        self.engine = engine

    def of(self, *kinds: str) -> list[LogLine]:
        return [line for line in self.last if line.kind in kinds]

    def figures(self, name: str, *kinds: str) -> list[Any]:
        return [line.values[name] for line in self.last if line.kind in kinds and name in line.values]

    def failure(self) -> LogLine | None:
        return self.cause_of(self.last)

    def hang(self) -> bool:
        """Requests run and nothing is generated, in two averages on end."""
        still = [
            not line.values["throughput"] and bool(line.values.get("running"))
            for line in self.of("decode")
            if "throughput" in line.values and "running" in line.values
        ]
        return any(a and b for a, b in pairwise(still))

    def ready(self) -> bool | str:
        answered = any(line.values.get("status") == 200 for line in self.of("access"))
        if self.hang() and answered:
            return "http-only"
        return self.progress.ready

    def value(self, key: str) -> Any:
        """What we read for a word of `expect`; None where nothing."""
        read = getattr(self, f"_{key}", None)
        return read() if read is not None else None

    def agrees(self, key: str, expected: Any) -> bool:
        if key in ("cause", "not_cause"):
            same = self._same_cause(expected)
            return same if key == "cause" else not same
        if key == "causes":
            said = {line.cause for line in self.lines if line.kind == "failure"}
            return all(said & SAME_CAUSE.get(one, {one}) for one in expected if one)
        value = self.value(key)
        if isinstance(expected, list) and not isinstance(value, list):
            return value in expected
        if isinstance(value, list) and not isinstance(expected, list):
            return any(abs(one - expected) <= 5e-3 for one in value)
        if isinstance(expected, float) and isinstance(value, int | float):
            return abs(value - expected) <= 1e-6 * max(abs(expected), 1.0) + 5e-3
        return bool(value == expected)

    def _same_cause(self, expected: str | None) -> bool:
        failure = self.failure()
        if expected is None or failure is None:
            return expected is None and failure is None
        if failure.cause == expected or failure.cause in SAME_CAUSE.get(expected, frozenset()):
            return True
        return _flat(expected) in _flat(f"{failure.text} {failure.values.get('message', '')}")

    # one a word of `expect`

    def _ready(self) -> Any:
        return self.ready()

    def _cause(self) -> Any:
        failure = self.failure()
        return failure.cause if failure else None

    def _not_cause(self) -> Any:
        return self._cause()

    def _causes(self) -> Any:
        return [line.cause for line in self.lines if line.kind == "failure"] or None

    def _context_len(self) -> Any:
        return self.progress.context_length

    _context_length = _context_len

    def _max_total_num_tokens(self) -> Any:
        return self.progress.pool_tokens

    _pool_tokens = _max_total_num_tokens

    def _kv_tokens(self) -> Any:
        pools = self.figures("tokens", "pool", "limits")
        return pools if len(set(pools)) > 1 else self.progress.pool_tokens

    def _limit(self) -> Any:
        return _last(self.figures("limit", "pressure"))

    def _input(self) -> Any:
        return _last(self.figures("asked", "pressure"))

    _prompt = _input

    def _accept_len(self) -> Any:
        return _last(self.figures("accept_len", "decode"))

    _mean_accept_len = _accept_len

    def _accept_rate(self) -> Any:
        return _last(self.figures("accept_rate", "decode"))

    _draft_accept = _accept_rate

    def _gen(self) -> Any:
        rates = self.figures("throughput", "decode")
        return rates if len(rates) > 1 else _last(rates)

    def _gen_tps(self) -> Any:
        return _last([line.values["throughput"] for line in self.of("decode") if "elapsed_ms" in line.values])

    def _prompt_tps(self) -> Any:
        return _last([line.values["input_throughput"] for line in self.of("prefill") if "elapsed_ms" in line.values])

    def _gen_sum(self) -> Any:
        rates = self.figures("throughput", "decode")
        return round(sum(rates), 2) if rates else None

    def _ranks(self) -> Any:
        return len(set(self.figures("dp_rank", "decode"))) or None

    def _queue(self) -> Any:
        return _last(self.figures("queue", "decode"))

    def _full_usage(self) -> Any:
        return _last(self.figures("usage", "decode"))

    def _retracted(self) -> Any:
        return _last(self.figures("retracted", "pressure"))

    def _ready_at(self) -> Any:
        return _last([line.values.get("at") for line in self.of("ready")])

    def _runs(self) -> Any:
        return sum(line.kind == "args" for line in self.lines) or None

    def _failed_runs(self) -> Any:
        begun = [start for start in self.starts if start[0].kind == "args"]
        return sum(not folded(start).ready for start in begun) if begun else None

    def _starts(self) -> Any:
        return len(self.starts)

    def _load_s(self) -> Any:
        """As the engine says it; else from its first line to the end of the weights, by its own clock."""
        said = _last(self.figures("elapsed_s", "weights"))
        return said if said is not None else self._took("weights")

    def _weights_s(self) -> Any:
        return self._took("weights")

    def _start_s(self) -> Any:
        return self._took("ready")

    def _took(self, kind: LineKind) -> int | None:
        """Whole seconds from the first line of the start to the last one of a kind."""
        times = [clock_of(line) for line in self.of("args")], [clock_of(line) for line in self.of(kind)]
        begin, end = (_last([one for one in found if one is not None]) for found in times)
        return None if begin is None or end is None else round(end - begin)

    def _stop_clean(self) -> Any:
        """Whether a start that was told to stop ended without a failure of its own."""
        stopped = [start for start in self.starts if folded(start).stopping]
        return all(self.cause_of(start) is None for start in stopped) if stopped else None

    def _warning(self) -> Any:
        return "pool<context" if self._kv_pool_ge_context() is False else None

    def _formats(self) -> Any:
        return len(self.lines)

    def _draft_accept_rate(self) -> Any:
        """vLLM's newer lines are in percent, and read as a share."""
        rate = self._accept_rate()
        return [rate, rate * 100] if rate is not None else None

    def _need_gib(self) -> Any:
        return _last(self.figures("need_gib", "failure"))

    def _have_gib(self) -> Any:
        return _last(self.figures("have_gib", "failure"))

    def _suggest_max_len(self) -> Any:
        return _last(self.figures("estimated_maximum", "failure"))

    def _kv_unified(self) -> Any:
        said = _last(self.figures("unified", "pool", "limits"))
        return None if said is None else said == "true"

    def _n_ctx_train(self) -> Any:
        return _last(self.figures("trained", "pool", "limits"))

    def _bad_env(self) -> Any:
        return _last(self.figures("value", "pressure"))

    def _effective(self) -> Any:
        return _last(self.figures("effective", "pressure"))

    _max_sequence_len = _context_len
    _max_total_tokens = _context_len

    def _free(self) -> Any:
        free, total = (_last(self.figures(name, "failure")) for name in ("free_gib", "total_gib"))
        return None if free is None or total is None else f"{free:.2f}/{total:.2f} GiB"

    def _seconds(self) -> Any:
        return _last(self.figures("seconds", "failure"))

    def _gpu_blocks(self) -> Any:
        return _last(self.figures("blocks", "pool"))

    def _max_conc(self) -> Any:
        return _last(self.figures("concurrency", "pool", "limits"))

    def _available_gib(self) -> Any:
        return _last(self.figures("available_gib", "pool"))

    def _hang(self) -> Any:
        return self.hang()

    def _n_slots(self) -> Any:
        return _last(self.figures("slots", "pool", "limits"))

    def _n_ctx_slot(self) -> Any:
        return self.progress.context_length

    def _kv_pool_ge_context(self) -> Any:
        pool, context = self.progress.pool_tokens, self.progress.context_length
        return None if pool is None or context is None else pool >= context

    def _child(self) -> Any:
        return _last([line.values["instance"] for line in self.last if "instance" in line.values])


def _last(values: list[Any]) -> Any:
    return values[-1] if values else None


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().lower()


def table_lines(found: list[Judged]) -> Iterator[str]:
    """Right, wrong and not compared, by case; then the sums."""
    for case in dict.fromkeys(one.case for one in found):
        mine = [one for one in found if one.case == case]
        right = [one.key for one in mine if one.right]
        unread = [one.key for one in mine if one.right is None]
        said = f"right: {', '.join(right) or '-'}"
        if unread:
            said += f"; not compared: {', '.join(unread)}"
        for one in mine:
            if one.right is False:
                said += f"; WRONG {one.key}: {one.read!r}, not {one.expected!r}"
        yield f"{case:<52} {said}"
    yield (
        f"{len({one.case for one in found})} logs, {sum(one.right is True for one in found)} figures right, "
        f"{sum(one.right is False for one in found)} wrong, {sum(one.right is None for one in found)} not compared"
    )
