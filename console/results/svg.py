"""A small chart as SVG: points, a line through them, and a predicted value with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 50
# Colours that are told apart on a light and on a dark page.
INK, LINE, POINT, FORECAST = "#888888", "#3b82f6", "#16a34a", "#d97706"


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
    right, top = ceiling(most_x), ceiling(most_y)

    def x(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * value / right, 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top, 1)

    def text(at: tuple[float, float], said: str, anchor: str) -> str:
        return f'<text x="{at[0]}" y="{at[1]}" text-anchor="{anchor}" fill="{INK}">{escape(said)}</text>'

    def drawn() -> Iterator[str]:
        yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        yield f' font-size="12" role="img"><title>{escape(title)}</title>'
        yield text((LEFT, 22), title, "start")
        for number in range(6):
            across, up = right * number / 5, top * number / 5
            yield f'<path d="M{LEFT} {y(up)}H{WIDTH - RIGHT}" stroke="{INK}" stroke-opacity="0.25"/>'
            yield text((LEFT - 8, y(up) + 4), f"{up:g}", "end")
            yield text((x(across), HEIGHT - BOTTOM + 18), short(across), "middle")
        yield text(((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10), "context, tokens", "middle")
        yield text((LEFT - 8, TOP - 6), "ms a step", "end")
        ends = (line[0], line[0] + line[1] * most_x)
        yield f'<path d="M{x(0)} {y(ends[0])}L{x(most_x)} {y(ends[1])}" stroke="{LINE}" stroke-width="2"/>'
        for band in bands:
            yield f'<path d="M{x(band.at)} {y(band.low)}V{y(band.high)}" stroke="{FORECAST}" stroke-width="3"/>'
            yield f'<circle cx="{x(band.at)}" cy="{y(band.value)}" r="4" fill="none" stroke="{FORECAST}"/>'
        for at, value in points:
            yield f'<circle cx="{x(at)}" cy="{y(value)}" r="3.5" fill="{POINT}"/>'
        yield "</svg>"

    return "\n".join(drawn()) + "\n"


def ceiling(value: float) -> float:
    """The next round number: 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value)


def short(tokens: float) -> str:
    return f"{tokens / 1000:g}k" if tokens >= 1000 else f"{tokens:g}"
