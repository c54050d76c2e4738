"""A record's before and after as one small chart: bars of the same unit, one pair a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from console.results.figures import figure
from console.results.svg import INK, LINE, POINT
from console.schema.record import Record

NAME = "before_after.svg"
WIDTH, ROW, TOP, LABEL, VALUE = 720, 46, 44, 190, 110


@dataclass(frozen=True)
class Pair:
    """One figure before and after, in tokens."""

    name: str
    before: float
    after: float


def pairs(record: Record) -> tuple[Pair, ...]:
    """The window asked for beside the pool made for it; empty where one is not known, or nothing changed."""
    before, after = record.stack_before, record.stack_after
    asked = [one for one in record.settings if one.setting == "context_length" and one.made]
    if before is None or after is None or not before.pool_tokens or not after.pool_tokens:
        return ()
    pools = Pair("pool_tokens", before.pool_tokens, after.pool_tokens)
    windows = [
        Pair(one.setting, float(one.before), float(one.after))
        for one in asked
        if one.before and one.after and one.before.isdigit() and one.after.isdigit()
    ]
    return (*windows, pools) if windows or pools.before != pools.after else ()


def chart(found: Sequence[Pair], *, title: str) -> str:
    """SVG with colours that are told apart on a light and on a dark page; empty without a pair."""
    return "\n".join(_drawn(found, title)) + "\n" if found else ""


def _drawn(found: Sequence[Pair], title: str) -> Iterator[str]:
    height = TOP + ROW * len(found) + 12
    most = max(max(pair.before, pair.after) for pair in found)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif"'
    yield f' font-size="12" role="img"><title>{escape(title)}</title>'
    yield f'<text x="12" y="22" fill="{INK}">{escape(title)}</text>'
    room = WIDTH - LABEL - VALUE
    for index, pair in enumerate(found):
        top = TOP + ROW * index
        yield f'<text x="{LABEL - 10}" y="{top + 22}" text-anchor="end" fill="{INK}">{escape(pair.name)}</text>'
        for offset, value, colour in ((4, pair.before, LINE), (20, pair.after, POINT)):
            width = round(room * value / most, 1)
            yield f'<rect x="{LABEL}" y="{top + offset}" width="{width}" height="12" fill="{colour}"/>'
            yield f'<text x="{LABEL + width + 6}" y="{top + offset + 10}" fill="{INK}">{figure(value)}</text>'
    yield f'<text x="{WIDTH - 12}" y="22" text-anchor="end"><tspan fill="{LINE}">before</tspan> '
    yield f'<tspan fill="{POINT}">after</tspan></text></svg>'
