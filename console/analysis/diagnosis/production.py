"""A service's own traffic as its log shows it: requests at work over time, the queue, and prompts found in the cache.

Every decode line counts here, also those that say nothing of a step's time: what a replica had to do is in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from console.analysis.diagnosis.window import Said, number

# A line stands for so many steps at most where its throughput counts an idle time before it; seconds.
LONGEST_LINE_S = 60.0


@dataclass(frozen=True)
class Production:
    """`request_s`: seconds at work, summed over requests; `busy_s`: over the time in which there were any.

    `hit`: the share of prompt tokens that were cached; None where the log does not say. `retracted`: requests that were
    taken back for lack of room.
    """

    lines: int
    request_s: float
    busy_s: float
    queued_most: int
    hit: float | None
    retracted: int = 0

    @property
    def running(self) -> float:
        """Requests at once while any was at work."""
        return self.request_s / self.busy_s if self.busy_s else 0.0


# vLLM prints its averages every so often (VLLM_LOG_STATS_INTERVAL), SGLang after so many steps.
INTERVAL_S: Mapping[str, float] = {"vllm": 10.0}
TELLS = ("sglang", "vllm")


def production_of(engine: str, lines: Sequence[Said], *, steps_a_line: int = 40) -> Production | None:
    """What the lines say; None for an engine whose log does not tell how many requests were at work."""
    if engine not in TELLS:
        return None
    interval_s = INTERVAL_S.get(engine)
    request_s = busy_s = new = cached = 0.0
    queued = decodes = retracted = 0
    rates: dict[int, float] = {}  # the newest of each engine: vLLM tells the share of its last thousand requests
    for said in lines:
        values = said.line.values
        if said.line.kind == "prefill":
            queued = max(queued, int(number(values, "queue") or 0.0))
            new += number(values, "new_tokens") or 0.0
            cached += number(values, "cached_tokens") or 0.0
        elif said.line.cause == "retracted":
            retracted += max(1, int(number(values, "retracted") or 0.0))
        elif said.line.kind == "decode" and "running" in values:
            if "hit_rate" in values:
                rates[int(number(values, "engine") or 0.0)] = number(values, "hit_rate") or 0.0
            batch, rate = (number(values, "running") or 0.0), (number(values, "throughput") or 0.0)
            queued = max(queued, int(number(values, "queue") or 0.0))
            if batch <= 0 or rate <= 0:
                continue
            decodes += 1
            accept = number(values, "accept_len") or 1.0
            took_s = interval_s or min(LONGEST_LINE_S, steps_a_line * accept * batch / rate)
            request_s += batch * took_s
            busy_s += took_s
    hit = cached / (cached + new) if cached + new else mean(rates.values()) if rates and decodes else None
    return Production(decodes, request_s, busy_s, queued, hit, retracted)
