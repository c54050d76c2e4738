"""`history trend`: each measured figure of a target over time, and where its level changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.results.history import ALWAYS, History, Span
from console.results.told import FindingTold


@dataclass(frozen=True)
class Point:
    """One figure of one record; `changes` are what the run changed, so that a step can be told from a cause."""

    at: str
    run: str
    value: float
    low: str
    high: str
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """Where a new level begins: by how much, and what was changed or found since the point before."""

    at: str
    run: str
    before: float
    after: float
    change: float
    p: float


@dataclass(frozen=True)
class Series:
    """One figure, oldest first. `newest`: as before · outside · too few."""

    name: str
    context_tokens: str
    text_class: str
    unit: str
    stack: str
    points: tuple[Point, ...]
    steps: tuple[Step, ...]
    newest: str
    low: float | None
    high: float | None


def trend_of(
    history: History, target: str, *, name: str = "", span: Span = ALWAYS, by_stack: bool = True
) -> list[Series]:
    """The series of every figure that was measured twice or more, or of the one named; the longest first.

    Figures of one configuration belong together: engine, model, precision and so on as the trailers tell them.
    """
    found: dict[tuple[str, str, str, str], list[tuple[FindingTold, Point]]] = {}
    for row in history.rows(target, span=span, patterns=["^Finding: "]):
        told = row.told
        stack = "; ".join(f"{key} {value}" for key, value in told.stack) if by_stack else ""
        for one in told.findings:
            if one.amount is not None and (not name or one.name == name):
                point = Point(row.at, told.run, one.amount, one.low, one.high, told.changes)
                found.setdefault((*one.key, stack), []).append((one, point))
    series = [_series(key, values[::-1]) for key, values in found.items() if len(values) > 1 or name]
    return sorted(series, key=lambda one: (-len(one.points), one.name, one.context_tokens))


def _series(key: tuple[str, str, str, str], values: Sequence[tuple[FindingTold, Point]]) -> Series:
    from console.analysis.statistics.trend import trend

    points = tuple(point for _, point in values)
    judged = trend([point.value for point in points])
    steps = tuple(
        Step(points[one.index].at, points[one.index].run, one.before, one.after, one.change, one.p)
        for one in judged.changes
    )
    name, context, text_class, stack = key
    expected = judged.expected
    return Series(
        name=name,
        context_tokens=context,
        text_class=text_class,
        unit=values[0][0].unit,
        stack=stack,
        points=points,
        steps=steps,
        newest=judged.newest,
        low=expected.low if expected else None,
        high=expected.high if expected else None,
    )
