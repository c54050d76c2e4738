"""Charts of a terminal: lines and intervals in braille dots, or in ASCII where there is nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from console.views.cells import cut, pad
from console.views.figures import number

# Bits of a braille cell by (column, row); U+2800 is the empty one.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_EMPTY = 0x2800
MARKS = "*ox+"


@dataclass(frozen=True)
class Point:
    """One measured value with its interval, where it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """Points in the order of x; `line`: joined by straight lines, else points alone; `marked`: or a line alone."""

    name: str
    points: tuple[Point, ...]
    line: bool = True
    marked: bool = True


@dataclass(frozen=True)
class Frame:
    """What is mapped to the area of a chart."""

    left: float
    right: float
    bottom: float
    top: float

    def place(self, x: float, y: float, columns: int, rows: int) -> tuple[int, int]:
        """Column and row, row 0 at the top; always inside."""
        across = (x - self.left) / (self.right - self.left or 1.0)
        down = (self.top - y) / (self.top - self.bottom or 1.0)
        return round(min(1.0, max(0.0, across)) * (columns - 1)), round(min(1.0, max(0.0, down)) * (rows - 1))


def frame_of(series: Sequence[Series]) -> Frame:
    """From 0 where the values are not far from it: a chart that begins elsewhere makes small changes look large."""
    points = [point for one in series for point in one.points]
    lows = [value for point in points for value in (point.y, point.low) if value is not None]
    highs = [value for point in points for value in (point.y, point.high) if value is not None]
    bottom, top = min(lows), max(highs)
    bottom = 0.0 if 0 <= bottom <= top * 0.7 else bottom - (top - bottom) * 0.1
    left, right = min(point.x for point in points), max(point.x for point in points)
    return Frame(left, right if right > left else left + 1, bottom, top if top > bottom else bottom + 1)


def chart(series: Sequence[Series], width: int, height: int, *, x: str, y: str, ascii_only: bool = False) -> list[str]:
    """The chart in `height` lines of `width` cells, with its axes and a legend; nothing where there is no point."""
    drawn = [one for one in series if one.points]
    if not drawn or width < 24 or height < 6:
        return []
    frame = frame_of(drawn)
    labels = [number(_round(value)) for value in (frame.top, (frame.top + frame.bottom) / 2, frame.bottom)]
    margin = max(map(len, labels)) + 1
    columns, rows = width - margin - 1, height - 4
    if columns < margin:
        return []  # figures so long that nothing is left to draw on
    body = _ascii(drawn, frame, columns, rows) if ascii_only else _braille(drawn, frame, columns, rows)
    said = [pad(f"{y}   {'   '.join(f'{_mark(index, one)} {one.name}' for index, one in enumerate(drawn))}", width)]
    for index, line in enumerate(body):
        label = labels[0] if index == 0 else labels[1] if index == rows // 2 else labels[2] if index == rows - 1 else ""
        said.append(f"{label:>{margin - 1}} |{line}")
    said.append(f"{'':>{margin - 1}} +{'-' * columns}")
    left, right = number(_round(frame.left)), f"{number(_round(frame.right))} {x}"
    said.append(f"{'':>{margin}}{left}{right:>{max(1, columns + 1 - len(left))}}")
    return [cut(line, width) for line in said]


def _mark(index: int, one: Series) -> str:
    return MARKS[index % len(MARKS)] if one.marked else "--"


def _round(value: float) -> float:
    return round(value, 1) if abs(value) < 100 else float(round(value))


def _steps(one: Series, frame: Frame, columns: int, rows: int) -> list[tuple[int, int]]:
    """Every dot of a series' lines."""
    places = [frame.place(point.x, point.y, columns, rows) for point in one.points]
    if not one.line:
        return places
    found = list(places[:1])
    for (from_x, from_y), (to_x, to_y) in pairwise(places):
        count = max(abs(to_x - from_x), abs(to_y - from_y), 1)
        found += [
            (round(from_x + (to_x - from_x) * step / count), round(from_y + (to_y - from_y) * step / count))
            for step in range(1, count + 1)
        ]
    return found


def _bars(one: Series, frame: Frame, columns: int, rows: int) -> list[tuple[int, int]]:
    """Every dot of a series' intervals."""
    found = []
    for point in one.points:
        if point.low is None or point.high is None:
            continue
        column, top = frame.place(point.x, point.high, columns, rows)
        _, bottom = frame.place(point.x, point.low, columns, rows)
        found += [(column, row) for row in range(top, bottom + 1)]
    return found


def _braille(series: Sequence[Series], frame: Frame, columns: int, rows: int) -> list[str]:
    bits = [[0] * columns for _ in range(rows)]
    marks: dict[tuple[int, int], str] = {}
    for index, one in enumerate(series):
        for column, row in [*_steps(one, frame, columns * 2, rows * 4), *_bars(one, frame, columns * 2, rows * 4)]:
            bits[row // 4][column // 2] |= _DOTS[column % 2][row % 4]
        for point in one.points if one.marked else ():
            marks[frame.place(point.x, point.y, columns, rows)] = MARKS[index % len(MARKS)]
    return [
        "".join(
            marks.get((column, row)) or (chr(_EMPTY + cell) if cell else " ") for column, cell in enumerate(line)
        ).rstrip()
        for row, line in enumerate(bits)
    ]


def _ascii(series: Sequence[Series], frame: Frame, columns: int, rows: int) -> list[str]:
    grid = [[" "] * columns for _ in range(rows)]
    for one in series:
        for column, row in _steps(one, frame, columns, rows):
            grid[row][column] = "."
        for column, row in _bars(one, frame, columns, rows):
            grid[row][column] = "|"
    for index, one in enumerate(series):
        for point in one.points if one.marked else ():
            column, row = frame.place(point.x, point.y, columns, rows)
            grid[row][column] = MARKS[index % len(MARKS)]
    return ["".join(line).rstrip() for line in grid]
