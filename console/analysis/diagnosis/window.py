"""A window of decoding as a production log shows it: how many requests, at which context, what a step committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from console.engines.base import LogLine

# Why a window was left out. The words are shown as they stand.
AFTER_IDLE = "first after idle: its rate counts the wait"
FIRST_SEEN = "first of the log: where it began cannot be seen"
NO_GRAPH = "decoded without graphs"
PREFILL_MIXED = "a prefill ran within it"
BATCH_CHANGED = "the batch changed within it"
REPETITION = "a repetition loop: acceptance at its ceiling for windows on end"
CUT = "cut off or without figures"
IDLE = "nothing was generated"
EARLIER_START = "of an earlier start of the engine"
UNLIKE = "far off every other window alike: a stall, or an idle gap that left no other trace"


@dataclass(frozen=True)
class Said:
    """One line of an engine's log and when it was said: seconds since the epoch, or of the engine's own clock."""

    at_s: float
    line: LogLine


@dataclass(frozen=True)
class Window:
    """Decode steps of one replica between two figures of its log.

    `context_tokens` is that of one request in the middle of the window, the mean over the batch. `rate_tok_s` is that
    of the whole batch. Without speculation `accept_length` is 1.
    """

    at_s: float
    context_tokens: float
    batch: float
    accept_length: float
    rate_tok_s: float
    queue: int = 0
    replica: int = 0

    @property
    def step_s(self) -> float:
        """Seconds a step took: each of `batch` requests commits `accept_length` tokens in it."""
        return self.batch * self.accept_length / self.rate_tok_s

    @property
    def total_tokens(self) -> float:
        """All the context that a step reads."""
        return self.context_tokens * self.batch

    @property
    def rate_per_request_tok_s(self) -> float:
        return self.rate_tok_s / self.batch


@dataclass(frozen=True)
class Excluded:
    """How many windows were left out for one reason."""

    reason: str
    count: int


@dataclass(frozen=True)
class Passive:
    """What a production log tells without a request of ours. `notes` say what was missing or assumed."""

    windows: tuple[Window, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    speculative: bool | None = None  # None: nothing was decoded
    prefill_share: float | None = None  # of the windows seen, those with a prefill in them
    notes: tuple[str, ...] = field(default=())

    @property
    def seen(self) -> int:
        return len(self.windows) + sum(one.count for one in self.excluded)


def counted(reasons: Iterable[str]) -> tuple[Excluded, ...]:
    """Reasons with how often each was met, the most frequent first."""
    return tuple(Excluded(reason, count) for reason, count in Counter(reasons).most_common())


def acceptance_over_time(windows: Sequence[Window], parts: int = 6) -> tuple[tuple[float, float, int], ...]:
    """(time of the middle, mean tokens a step committed, windows) of equal parts of the time seen."""
    if not windows:
        return ()
    begin, end = windows[0].at_s, windows[-1].at_s
    width = (end - begin) / parts or 1.0
    told: list[tuple[float, float, int]] = []
    for index in range(parts):
        inside = [one for one in windows if index == min(int((one.at_s - begin) / width), parts - 1)]
        if inside:
            # A step commits batch × acceptance tokens, so windows count by their steps and not by their rate.
            steps = [one.rate_tok_s / one.accept_length for one in inside]
            mean = sum(one.rate_tok_s for one in inside) / sum(steps)
            told.append((begin + (index + 0.5) * width, mean, len(inside)))
    return tuple(told)


def mean_acceptance(windows: Sequence[Window]) -> float | None:
    """Tokens a step of one request commits, over all windows."""
    if not windows:
        return None
    return sum(one.accept_length * one.batch for one in windows) / sum(one.batch for one in windows)


def number(values: Mapping[str, float | int | str], name: str) -> float | None:
    """A figure of a log line; None where the line has none of that name, or a word."""
    value = values.get(name)
    return float(value) if isinstance(value, int | float) else None
