"""How far a start has come, folded from the lines of its log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from console.engines.base import LineKind, LogLine

Phase = Literal["starting", "weights", "pool", "graphs", "warmup", "ready"]

# Where each phase begins and ends, as a share of a whole start: weights of a large model take most of it.
_SHARES: dict[Phase, tuple[float, float]] = {
    "starting": (0.0, 0.0),
    "weights": (0.03, 0.80),
    "pool": (0.80, 0.82),
    "graphs": (0.82, 0.96),
    "warmup": (0.97, 0.97),
    "ready": (1.0, 1.0),
}

_PHASES: dict[LineKind, Phase] = {
    "weights": "weights",
    "pool": "pool",
    "limits": "graphs",
    "graphs": "graphs",
    "listening": "warmup",
    "ready": "ready",
}


@dataclass(frozen=True)
class LoadProgress:
    """One start, as far as its lines tell. `fraction` is of the whole start and never falls within it."""

    phase: Phase = "starting"
    done: int | None = None  # within the phase: shards, or graphs
    total: int | None = None
    fraction: float = 0.0
    pool_tokens: int | None = None  # of the target model, not of its draft
    context_length: int | None = None
    ready: bool = False
    stopping: bool = False
    failure: LogLine | None = None  # the most certain so far
    lines: int = 0  # lines read; a number that still grows is a start that still moves

    def after(self, line: LogLine) -> LoadProgress:
        """The progress once `line` was read. An `args` line begins a new start: nothing of the old one stays."""
        if line.kind == "args":
            return LoadProgress(context_length=_whole(line, "context"), lines=self.lines + 1)
        now = replace(self, lines=self.lines + 1)
        if line.kind == "stopping":
            return replace(now, stopping=True)
        if line.kind == "failure":
            worse = self.failure is None or line.certainty > self.failure.certainty
            return replace(now, failure=line) if worse else now
        if line.kind == "pool" and self.pool_tokens is None:
            now = replace(now, pool_tokens=_whole(line, "tokens"))
        if line.kind == "limits":
            now = replace(
                now,
                pool_tokens=_whole(line, "tokens") or now.pool_tokens,
                context_length=_whole(line, "context") or now.context_length,
            )
        phase = _PHASES.get(line.kind)
        if phase is None or self.ready:
            return now
        return now._moved(phase, line.done, line.total)

    def _moved(self, phase: Phase, done: int | None, total: int | None) -> LoadProgress:
        same = phase == self.phase
        if done is None and same:
            done, total = self.done, self.total
        begin, end = _SHARES[phase]
        within = min(done / total, 1.0) if done is not None and total else 0.0
        return replace(
            self,
            phase=phase,
            done=done,
            total=total,
            fraction=max(self.fraction, begin + (end - begin) * within),
            ready=phase == "ready",
        )


def folded(lines: Iterable[LogLine]) -> LoadProgress:
    """The progress of the last start in `lines`."""
    progress = LoadProgress()
    for line in lines:
        progress = progress.after(line)
    return progress


def eta_s(elapsed_s: float, fraction: float) -> float | None:
    """Seconds until ready, if the rest goes as the part so far; None while too little is known to say."""
    if fraction < 0.05 or elapsed_s <= 0:
        return None
    return elapsed_s * (1.0 - min(fraction, 1.0)) / fraction


def starts(lines: Iterable[LogLine]) -> Sequence[Sequence[LogLine]]:
    """The lines cut where the engine printed its arguments: one file can hold many starts, of which the last counts."""
    cut: list[list[LogLine]] = [[]]
    for line in lines:
        if line.kind == "args":
            cut.append([])
        cut[-1].append(line)
    return [start for start in cut if start]


def _whole(line: LogLine, name: str) -> int | None:
    value = line.values.get(name)
    return value if isinstance(value, int) else None
