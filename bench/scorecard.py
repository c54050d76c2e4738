"""One row of the acceptance table: what was seen over many replicas, each figure beside its bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean


@dataclass(frozen=True)
class Check:
    """A figure with its bound; `at_most` False: it is a least value. No bound: told, not judged."""

    name: str
    value: float
    bound: float | None = None
    at_most: bool = True
    unit: str = "%"

    @property
    def met(self) -> bool:
        if self.bound is None:
            return True
        return self.value <= self.bound if self.at_most else self.value >= self.bound

    def text(self) -> str:
        shown = (
            f"{self.name} {self.value:.2f}{self.unit}" if self.unit == "%" else f"{self.name} {self.value:g}{self.unit}"
        )
        if self.bound is None:
            return shown
        return f"{shown} ({'≤' if self.at_most else '≥'}{self.bound:g}){'' if self.met else ' MISSED'}"


@dataclass(frozen=True)
class Outcome:
    """One replica: the value found, whether its interval held the truth, and what it took."""

    value: float
    held: bool
    requests: int
    naive: float = math.nan
    half_width: float = math.nan


@dataclass(frozen=True)
class Score:
    """A row: its scenario, how often it was run, and the checks."""

    name: str
    replicas: int
    checks: tuple[Check, ...]
    requests: float = math.nan
    naive_p95: float = math.nan
    through: str = "Monte-Carlo"
    notes: tuple[str, ...] = field(default=())

    @property
    def met(self) -> bool:
        return all(check.met for check in self.checks)


def most(name: str, value: float, bound: float | None = None, unit: str = "%") -> Check:
    return Check(name, value, bound, True, unit)


def least(name: str, value: float, bound: float | None = None, unit: str = "%") -> Check:
    return Check(name, value, bound, False, unit)


def share(flags: Sequence[bool]) -> float:
    """Percent of True."""
    return 100 * sum(flags) / len(flags) if flags else math.nan


def p95(errors: Sequence[float]) -> float:
    """The 95th percentile of absolute errors, the larger of the two neighbours."""
    ordered = sorted(abs(error) if math.isfinite(error) else math.inf for error in errors)
    return ordered[min(len(ordered) - 1, math.ceil(0.95 * len(ordered)) - 1)]


def errors_of(values: Sequence[float], truth: float) -> list[float]:
    """Percent off the truth."""
    return [100 * (value / truth - 1) for value in values]


def score(
    name: str,
    outcomes: Sequence[Outcome],
    truth: float,
    *,
    bias: float | None = None,
    error: float | None = None,
    coverage: float | None = 93.0,
    more: Sequence[Check] = (),
    through: str = "Monte-Carlo",
    notes: Sequence[str] = (),
) -> Score:
    """A row of an estimator with a known truth; bounds in percent, None where the table has none."""
    errors = errors_of([outcome.value for outcome in outcomes], truth)
    return Score(
        name,
        len(outcomes),
        (
            most("|bias|", abs(mean(errors)), bias),
            most("p95", p95(errors), error),
            least("coverage", share([outcome.held for outcome in outcomes]), coverage),
            *more,
        ),
        mean(outcome.requests for outcome in outcomes),
        p95(errors_of([outcome.naive for outcome in outcomes], truth)),
        through,
        tuple(notes),
    )


def table(scores: Sequence[Score]) -> str:
    """The rows as text of 80 columns: scenario, replicas, requests, the naive pair's p95, then the checks."""
    lines = []
    for row in scores:
        mark = "met   " if row.met else "MISSED"
        head = f"{mark}  {row.name}  ·  {row.replicas} × {row.through}"
        if math.isfinite(row.requests):
            head += f"  ·  {row.requests:.1f} requests"
        if not math.isnan(row.naive_p95):
            head += f"  ·  naive pair p95 {row.naive_p95:.1f}%"
        lines += [head, *wrapped([check.text() for check in row.checks]), *(f"        {note}" for note in row.notes)]
    kept = sum(row.met for row in scores)
    return "\n".join([*lines, "", f"{kept} of {len(scores)} rows met"])


def wrapped(parts: Sequence[str], width: int = 80) -> list[str]:
    lines = ["        "]
    for number, part in enumerate(parts):
        piece = part + (", " if number + 1 < len(parts) else "")
        if len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("        ")
        lines[-1] += piece
    return [line.rstrip() for line in lines]
