"""A small chart as SVG: points, a line through them, and a predicted value with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 50
# Colours that are told apart on a light and on a dark page.
INK, LINE, POINT, FORECAST = "#787878", "#3b82f6", "#16a34a", "#d97706"


@dataclass(frozen=True)
class Band:
    """A predicted value at `at`, with its interval."""

    at: float
    value: float
    low: float
    high: float


def chart(
    points: Sequence[tuple[float, float]], line: tuple[float, float], bands: Sequence[Band], *, title: str
) -> str:
    """`line` is intercept and slope; x are tokens, y milliseconds."""
    most_x = max([at for at, _ in points] + [band.at for band in bands], default=1.0) or 1.0
    most_y = max([y for _, y in points] + [max(band.high, band.value) for band in bands], default=1.0) or 1.0
    axes = Axes(ceiling(most_x), ceiling(most_y))
    x, y = axes.x, axes.y
    ends = (line[0], line[0] + line[1] * most_x)
    drawn = [
        *axes.drawn(title, across="context, tokens", up="ms a step"),
        f'<path d="M{x(0)} {y(ends[0])}L{x(most_x)} {y(ends[1])}" stroke="{LINE}" stroke-width="2"/>',
    ]
    for band in bands:
        drawn.append(f'<path d="M{x(band.at)} {y(band.low)}V{y(band.high)}" stroke="{FORECAST}" stroke-width="3"/>')
        drawn.append(f'<circle cx="{x(band.at)}" cy="{y(band.value)}" r="4" fill="none" stroke="{FORECAST}"/>')
    return whole([*drawn, *axes.dots(points)])


def curve(points: Sequence[tuple[float, float]], *, title: str, across: str, up: str) -> str:
    """Points in their order, joined. Raises ValueError without points."""
    axes = Axes(ceiling(max(at for at, _ in points)), ceiling(max(value for _, value in points)))
    path = "L".join(f"{axes.x(at)} {axes.y(value)}" for at, value in points)
    joined = f'<path d="M{path}" fill="none" stroke="{LINE}" stroke-width="2"/>'
    return whole([*axes.drawn(title, across=across, up=up), joined, *axes.dots(points)])


def whole(parts: Sequence[str]) -> str:
    return "\n".join([*parts, "</svg>"]) + "\n"


@dataclass(frozen=True)
class Axes:
    """From 0 to `right` and to `top`, five lines each way."""

    right: float
    top: float

    def x(self, value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * value / self.right, 1)

    def y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.top, 1)

    def drawn(self, title: str, *, across: str, up: str) -> Iterator[str]:
        yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        yield f' font-size="12" role="img"><title>{escape(title)}</title>'
        yield text((LEFT, 22), title, "start")
        for number in range(6):
            at, height = self.right * number / 5, self.top * number / 5
            yield f'<path d="M{LEFT} {self.y(height)}H{WIDTH - RIGHT}" stroke="{INK}" stroke-opacity="0.25"/>'
            yield text((LEFT - 8, self.y(height) + 4), f"{height:g}", "end")
            yield text((self.x(at), HEIGHT - BOTTOM + 18), short(at), "middle")
        yield text(((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10), across, "middle")
        yield text((LEFT - 8, TOP - 6), up, "end")

    def dots(self, points: Sequence[tuple[float, float]]) -> Iterator[str]:
        for at, value in points:
            yield f'<circle cx="{self.x(at)}" cy="{self.y(value)}" r="3.5" fill="{POINT}"/>'


def text(at: tuple[float, float], said: str, anchor: str) -> str:
    return f'<text x="{at[0]}" y="{at[1]}" text-anchor="{anchor}" fill="{INK}">{escape(said)}</text>'


def ceiling(value: float) -> float:
    """The next round number: 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value)


def short(tokens: float) -> str:
    return f"{tokens / 1000:g}k" if tokens >= 1000 else f"{tokens:g}"
