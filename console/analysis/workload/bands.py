"""A replay taken apart by band: by input, output, requests at once and known prefix, each with its latencies."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from console.analysis.statistics.estimate import Estimate
from console.analysis.statistics.quantiles import quantile

Dimension = Literal["all", "input", "output", "at_once", "reuse"]
EDGES: Mapping[Dimension, tuple[float, ...]] = {
    "input": (0, 1024, 4096, 16384, 65536),
    "output": (0, 64, 256, 1024),
    "at_once": (1, 2, 5, 9, 17, 33, 65),
    "reuse": (0.0, 0.25, 0.5, 0.75),
}


@dataclass(frozen=True)
class Served:
    """One request of a replay that was answered whole. Seconds from when it should have been sent."""

    began_s: float
    ended_s: float
    ttft_s: float
    gap_s: float | None  # mean time between two tokens
    input: int
    output: int
    known: int  # tokens of the prompt that an ideal cache has
    cached: int | None = None  # that the engine had

    @property
    def e2e_s(self) -> float:
        return self.ended_s - self.began_s


@dataclass(frozen=True)
class Goal:
    """What a request must keep to count as good; None: does not matter."""

    ttft_s: float | None = None
    gap_s: float | None = None

    def kept(self, one: Served) -> bool:
        late = self.ttft_s is not None and one.ttft_s > self.ttft_s
        slow = self.gap_s is not None and one.gap_s is not None and one.gap_s > self.gap_s
        return not late and not slow


@dataclass(frozen=True)
class Band:
    """Latencies of the requests of one band; a quantile of few says so in its flags."""

    dimension: Dimension
    label: str
    n: int
    ttft_p50: Estimate
    ttft_p95: Estimate
    e2e_p95: Estimate
    gap_p50: Estimate | None
    gap_p95: Estimate | None
    good: float  # share that kept the goal
    hit: float | None  # share of input tokens that came from the engine's cache


def bands(served: Sequence[Served], goal: Goal) -> list[Band]:
    """All requests first, then each band that has any, dimension by dimension."""
    if not served:
        return []
    found = [_band("all", "all", served, goal)]
    at_once = _at_once(served)
    for dimension, edges in EDGES.items():
        placed: dict[int, list[Served]] = {}
        for index, one in enumerate(served):
            placed.setdefault(_place(dimension, one, at_once[index]), []).append(one)
        found += [_band(dimension, _label(edges, place), placed[place], goal) for place in sorted(placed)]
    return found


def in_band(served: Sequence[Served], name: str) -> list[Served]:
    """Those of one band by its name as findings have it: `input:4096-16384`, `at_once:5-9`, `all`."""
    dimension, place = place_of(name)
    if dimension == "all":
        return list(served)
    at_once = _at_once(served)
    return [one for index, one in enumerate(served) if _place(dimension, one, at_once[index]) == place]


def place_of(name: str) -> tuple[Dimension, int]:
    """Raises ValueError, with the bands that there are."""
    if name == "all":
        return "all", 0
    for dimension, edges in EDGES.items():
        for place in range(len(edges)):
            if name == f"{dimension}:{_label(edges, place)}":
                return dimension, place
    known = [f"{dimension}:{_label(edges, place)}" for dimension, edges in EDGES.items() for place in range(len(edges))]
    raise ValueError(f"no band {name}; there are all, {', '.join(known)}")


def _place(dimension: Dimension, one: Served, at_once: int) -> int:
    value = {
        "input": one.input,
        "output": one.output,
        "at_once": at_once,
        "reuse": one.known / one.input if one.input else 0.0,
    }[dimension]
    return max(0, bisect_right(EDGES[dimension], value) - 1)


def _band(dimension: Dimension, label: str, served: Sequence[Served], goal: Goal) -> Band:
    ttft = [one.ttft_s for one in served]
    gaps = [one.gap_s for one in served if one.gap_s is not None]
    known = [one for one in served if one.cached is not None]
    given = sum(one.input for one in known)
    return Band(
        dimension=dimension,
        label=label,
        n=len(served),
        ttft_p50=quantile(ttft, 0.5),
        ttft_p95=quantile(ttft, 0.95),
        e2e_p95=quantile([one.e2e_s for one in served], 0.95),
        gap_p50=quantile(gaps, 0.5) if gaps else None,
        gap_p95=quantile(gaps, 0.95) if gaps else None,
        good=sum(map(goal.kept, served)) / len(served),
        hit=sum(one.cached or 0 for one in known) / given if given else None,
    )


def _label(edges: tuple[float, ...], place: int) -> str:
    low = f"{edges[place]:g}"
    return f"{low}+" if place + 1 == len(edges) else f"{low}-{edges[place + 1]:g}"


def _at_once(served: Sequence[Served]) -> list[int]:
    """How many requests were at work when each began, itself among them."""
    begins = sorted(one.began_s for one in served)
    ends = sorted(one.ended_s for one in served)
    return [bisect_right(begins, one.began_s) - bisect_right(ends, one.began_s) for one in served]
