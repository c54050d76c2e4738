"""Prometheus text as an engine's `/metrics` answers it, and the counters every engine has in some form."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

_SAMPLE = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})?\s+(\S+)")
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Sample:
    """One line: a name, its labels and a finite value."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class Counters:
    """What an engine has counted since its start, over all ranks, and its gauges. None: it does not say.

    `draft_steps` counts verify steps that had drafts; what a step commits is `1 + accepted/draft_steps` only where
    every step drafts. `accept_length` is a gauge of the engine's own, bonus token included.
    """

    prompt_tokens: float | None = None
    generated_tokens: float | None = None
    cached_tokens: float | None = None
    draft_steps: float | None = None
    drafted_tokens: float | None = None
    accepted_tokens: float | None = None
    engine_steps: float | None = None
    requests_running: int | None = None
    requests_waiting: int | None = None
    running_by_replica: Mapping[str, int] = field(default_factory=dict)  # dp0, "engine 1"; empty: it does not say
    retracted: float | None = None  # requests taken back for lack of room
    pool_usage: float | None = None  # 0 to 1; of several ranks the fullest
    accept_length: float | None = None
    pool_tokens: int | None = None
    context_length: int | None = None
    error: str = ""


@dataclass(frozen=True)
class Metrics:
    """The samples of one answer, by name. No text makes it raise; lines that are none are left out."""

    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Metrics:
        found: dict[str, list[Sample]] = {}
        for sample in _read(text.splitlines()):
            found.setdefault(sample.name, []).append(sample)
        return cls({name: tuple(samples) for name, samples in found.items()})

    def sum(self, *names: str) -> float | None:
        """The first of `names` that is there, summed over its labels; the client libraries add `_total` to counters."""
        for name in names:
            for spelled in (name, f"{name}_total"):
                if spelled in self.samples:
                    return math.fsum(sample.value for sample in self.samples[spelled])
        return None

    def largest(self, *names: str) -> float | None:
        values = [sample.value for name in names for sample in self.samples.get(name, ())]
        return max(values, default=None)

    def smallest(self, *names: str) -> float | None:
        values = [sample.value for name in names for sample in self.samples.get(name, ())]
        return min(values, default=None)

    def by_label(self, name: str, label: str, prefix: str) -> dict[str, int]:
        """A gauge by the values of one label, `prefix` before each; of several ranks that say it the largest."""
        found: dict[str, int] = {}
        for sample in self.samples.get(name, ()):
            if label in sample.labels and sample.value >= 0:
                key = f"{prefix}{sample.labels[label]}"
                found[key] = max(found.get(key, 0), int(sample.value))
        return found

    def label(self, name: str, label: str) -> str | None:
        """The first value of a label, such as those of an `…_info` metric."""
        return next((sample.labels[label] for sample in self.samples.get(name, ()) if label in sample.labels), None)

    def count(self, *names: str) -> int | None:
        value = self.sum(*names)
        return None if value is None or value < 0 else int(value)


def _read(lines: Iterable[str]) -> Iterator[Sample]:
    for line in lines:
        if line.startswith("#"):
            continue
        match = _SAMPLE.match(line.strip())
        if match is None:
            continue
        try:
            value = float(match[3])
        except ValueError:
            continue
        if math.isfinite(value):
            yield Sample(match[1], dict(_LABEL.findall(match[2] or "")), value)
