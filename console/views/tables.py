"""Small tables of columns that fit a terminal, without lines around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from console.untrusted import one_line
from console.views.cells import cells, cut, pad, wrap

GAP = "  "
NARROWEST = 6


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int = 80,
    *,
    right: Sequence[int] = (),
    wrapped: int | None = None,
    whole: Sequence[int] = (),
) -> list[str]:
    """Lines of a table in at most `width` cells; the widest columns give way first, cut with an ellipsis.

    `right`: columns set at the right end, such as figures. `wrapped`: the one column that goes on in further lines
    instead of being cut. `whole`: columns that never give way, for what is copied or compared. An empty `head` makes
    no head line.
    """
    everything = [[one_line(cell) for cell in row] for row in ([head] if head else []) + list(rows)]
    if not everything:
        return []
    widths = _widths(everything, width, whole)
    lines: list[str] = []
    for row in everything:
        lines.extend(_row(row, widths, right, wrapped))
    return lines


def flowing(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    width: int = 80,
    *,
    wrapped: int | None = None,
    whole: Sequence[int] = (),
    fixed_by: int = 300,
) -> Iterator[str]:
    """As `table`, for rows without end: the first `fixed_by` of them decide the widths, and none is kept."""
    flow = iter(rows)
    first = [[one_line(cell) for cell in row] for row in chain([head], islice(flow, fixed_by))]
    widths = _widths(first, width, whole)
    for row in chain(first, ([one_line(cell) for cell in row] for row in flow)):
        yield from _row(row, widths, (), wrapped)


def _widths(rows: list[list[str]], width: int, whole: Sequence[int]) -> list[int]:
    widths = [min(width, max(cells(row[column]) for row in rows)) for column in range(len(rows[0]))]
    room = width - len(GAP) * (len(widths) - 1)
    yielding = [column for column in range(len(widths)) if column not in whole]
    while sum(widths) > room and yielding:
        widest = max(yielding, key=lambda column: widths[column])
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    return widths


def _row(row: list[str], widths: list[int], right: Sequence[int], wrapped: int | None) -> list[str]:
    further: list[str] = []
    shown = []
    for column, (cell, size) in enumerate(zip(row, widths, strict=True)):
        if column == wrapped and cells(cell) > size:
            first, *further = wrap(cell, size)
            shown.append(pad(first, size))
        else:
            shown.append(pad(cut(cell, size), size, right=column in right))
    lines = [GAP.join(shown).rstrip()]
    if further and wrapped is not None:
        indent = " " * (sum(widths[:wrapped]) + len(GAP) * wrapped)
        lines.extend(indent + line for line in further)
    return lines
