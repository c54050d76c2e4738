"""What an experiment is for: one figure as high or low as it gets while others keep their bounds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from console.errors import InvalidFileError

# How people write a figure → its name among the findings of a run.
FIGURES: Mapping[str, str] = {
    "tokens/min/gpu": "tok_min_gpu",
    "tok/min/gpu": "tok_min_gpu",
    "p50 ttft": "ttft_p50_s",
    "p95 ttft": "ttft_p95_s",
    "p50 itl": "itl_p50_ms",
    "p95 itl": "itl_p95_ms",
    "p95 e2e": "e2e_p95_s",
    "decode": "decode_tok_s",
    "goodput": "good_percent",
    "pool": "pool_tokens",
}
NAMES = tuple(dict.fromkeys(FIGURES.values()))
UNITS: Mapping[str, float] = {"s": 1.0, "ms": 0.001, "tok/s": 1.0, "%": 1.0, "": 1.0}
_BOUND = re.compile(r"(?P<figure>.+?)\s*(?P<op><=|>=|<|>)\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-z/%]*)")


@dataclass(frozen=True)
class Bound:
    """`figure op value`, in the figure's own unit."""

    figure: str
    op: Literal["<", "<=", ">", ">="]
    value: float

    def kept(self, value: float) -> bool:
        return {
            "<": value < self.value,
            "<=": value <= self.value,
            ">": value > self.value,
            ">=": value >= self.value,
        }[self.op]

    @property
    def upper(self) -> bool:
        return self.op in ("<", "<=")

    def text(self) -> str:
        return f"{self.figure} {self.op} {self.value:g}"


@dataclass(frozen=True)
class Objective:
    figure: str
    way: Literal["max", "min"]
    bounds: tuple[Bound, ...] = ()

    def missed(self, figures: Mapping[str, float]) -> list[Bound]:
        """Bounds that are not kept; a figure that was not measured keeps none."""
        return [one for one in self.bounds if one.figure not in figures or not one.kept(figures[one.figure])]

    @property
    def wanted(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.figure, *(one.figure for one in self.bounds))))


def parse_objective(text: str, where: str = "[experiment] objective") -> Objective:
    """`tokens/min/GPU max while p95 TTFT < 2 s and decode >= 60 tok/s`. Raises InvalidFileError."""
    goal, _, rest = text.strip().partition(" while ")
    figure, _, way = goal.strip().rpartition(" ")
    if way not in ("max", "min"):
        raise InvalidFileError(
            f"{goal!r} does not end in max or min", where=where, hint="decode max while p95 TTFT < 2 s"
        )
    bounds = tuple(_bound(part, where) for part in rest.split(" and ")) if rest.strip() else ()
    return Objective(_figure(figure, where), "max" if way == "max" else "min", bounds)


def _bound(text: str, where: str) -> Bound:
    match = _BOUND.fullmatch(text.strip())
    if match is None or match["unit"] not in UNITS:
        raise InvalidFileError(f"{text.strip()!r} is no bound", where=where, hint="p95 TTFT < 2 s; decode >= 60 tok/s")
    figure = _figure(match["figure"], where)
    value = float(match["number"])
    if match["unit"] in ("s", "ms"):
        value *= UNITS[match["unit"]] * (1000 if figure.endswith("_ms") else 1)
    op: Literal["<", "<=", ">", ">="] = match["op"]  # type: ignore[assignment]
    return Bound(figure, op, value)


def _figure(text: str, where: str) -> str:
    word = " ".join(text.split()).lower()
    found = FIGURES.get(word, word)
    if found not in NAMES:
        raise InvalidFileError(f"no such figure: {text.strip()}", where=where, hint=f"known: {', '.join(FIGURES)}")
    return found
