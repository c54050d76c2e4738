"""Small charts of a terminal: points over an axis, in plain characters that any font has."""

from __future__ import annotations

from collections.abc import Sequence

from console.views.figures import number

MARK = "o"
HEIGHT = 8
WIDEST = 72


def line_chart(
    points: Sequence[tuple[float, float]],
    *,
    title: str,
    other: Sequence[tuple[float, float]] = (),
    width: int = 80,
    height: int = HEIGHT,
) -> list[str]:
    """`points` as `o` and `other` as `x`, the vertical axis from 0 or from below the lowest where that shows more.

    The horizontal axis is in proportion; points that fall on one cell become one mark.
    """
    everything = [*points, *other]
    if not everything:
        return []
    low, high = min(y for _, y in everything), max(y for _, y in everything)
    base = 0.0 if low >= 0 and low < high / 2 else low - (high - low or abs(high) or 1.0) * 0.1
    top = high if high > base else base + 1
    left, right = min(x for x, _ in everything), max(x for x, _ in everything)
    labels = [number(_round(top)), number(_round(base))]
    gutter = max(map(len, labels))
    room = max(10, min(WIDEST, width) - gutter - 3)
    grid = [[" "] * room for _ in range(height)]
    for series, mark in ((other, "x"), (points, MARK)):
        for x, y in series:
            column = round((x - left) / (right - left) * (room - 1)) if right > left else 0
            row = round((top - y) / (top - base) * (height - 1))
            grid[min(height - 1, max(0, row))][column] = mark
    said = [title]
    for index, cells in enumerate(grid):
        label = labels[0] if index == 0 else labels[1] if index == height - 1 else ""
        said.append(f"{label:>{gutter}} |{''.join(cells)}".rstrip())
    said.append(f"{'':>{gutter}} +{'-' * room}")
    ends = f"{number(_round(left))}{number(_round(right)):>{room - len(number(_round(left)))}}"
    said.append(f"{'':>{gutter}}  {ends}")
    return said


def _round(value: float) -> float:
    return float(f"{value:.4g}")
