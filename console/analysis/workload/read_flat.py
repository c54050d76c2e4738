"""Flat JSON lines of whole numbers many at a time, faster than a parser, and line by line wherever one is not so.

What is left of a line without its digits is its form. A trace has few forms; each is parsed once, as JSON, with numbers
in its gaps, so that it is known which number of such a line is what. Then all numbers are read at once as arrays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from console.analysis.workload.batch import LONGEST_TOKENS, Batch
from console.analysis.workload.column_map import ColumnMap
from console.analysis.workload.moments import SCALE
from console.analysis.workload.read_rows import of_json_lines

# Columns of numbers or of lists of numbers; a map with others is read line by line.
QUICK = {"at", "input", "output", "blocks"}
DIGITS = b"0123456789"
# A number stands after one of these and before one of those, wherever JSON allows one. Sixteen digits fit two words.
BEFORE, AFTER, LONGEST_NUMBER = b" ,:[", b",]}", 16
GAP = re.compile(rb"(?<=[ ,:\[])(?=[,\]}])")
FIRST_MARK = 1000
MARGIN = b"\n" * 16


@dataclass(frozen=True)
class Form:
    """Which of a line's numbers is what; `blocks` is where the list begins."""

    numbers: int
    at: int
    input: int
    output: int
    blocks: int
    blocks_n: int


def of_flat_lines(data: bytes, first_line: int, columns: ColumnMap, *, torn: bool = False) -> Batch:
    """Whole lines of a flat trace, as one piece of bytes that need not end with a line's end."""
    if data and columns.flat and set(columns.columns) <= QUICK and columns.time in SCALE:
        batch = _quick(data, first_line, columns)
        if batch is not None:
            return batch
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return of_json_lines(lines, first_line, columns, torn=torn)


def _quick(data: bytes, first_line: int, columns: ColumnMap) -> Batch | None:
    """None where a single line is not as the map says: it is looked for line by line then."""
    import numpy as np

    text = MARGIN + (data if data.endswith(b"\n") else data + b"\n")
    ids: dict[bytes, int] = {}
    forms: list[Form] = []
    form_of = []
    for skeleton in text.translate(None, DIGITS)[len(MARGIN) : -1].split(b"\n"):
        known = ids.get(skeleton)
        if known is None:
            form = _form(skeleton, tuple(columns.columns.items()))
            if form is None:
                return None
            known = ids[skeleton] = len(forms)
            forms.append(form)
        form_of.append(known)
    read = _numbers(text)
    if read is None:
        return None
    values, first = read
    form_at = np.array(form_of)

    def of_form(name: str) -> Any:
        return np.array([getattr(form, name) for form in forms], dtype=np.int64)[form_at]

    if not (np.diff(first) == of_form("numbers")).all():
        return None
    begin = first[:-1]
    at, given, made = (values[begin + of_form(name)] for name in ("at", "input", "output"))
    scale = int(SCALE[columns.time])
    if max(given.max(), made.max()) > LONGEST_TOKENS or at.max() > (1 << 62) // scale:
        return None
    if columns.failed_without_output and not made.all():
        return None
    blocks = counts = None
    if "blocks" in columns.columns:
        counts = of_form("blocks_n")
        # Where each line's list begins, less how many blocks came before it: then counting on finds every block.
        shift = begin + of_form("blocks") - (np.cumsum(counts) - counts)
        blocks = values[np.repeat(shift, counts) + np.arange(int(counts.sum()))]
    return Batch(len(at), at * scale, given, made, first_line=first_line, blocks=blocks, blocks_n=counts)


def _numbers(text: bytes) -> tuple[Any, Any] | None:
    """All numbers of the text in order, and which is the first of each line (and of the line after the last).

    None when digits stand where a flat line has none, or a number is too long. Eight digits are read as one word.
    Source: Lemire, Number parsing at a gigabyte per second, Software: Practice and Experience 51 (2021), 3.
    """
    import numpy as np

    raw = np.frombuffer(text, np.uint8)
    digit = (raw - np.uint8(48)) < 10
    edges = np.flatnonzero(digit[1:] != digit[:-1]) + 1
    starts, ends = edges[::2], edges[1::2]
    length = ends - starts
    may = np.zeros((2, 256), dtype=bool)
    may[0, list(BEFORE)] = may[1, list(AFTER)] = True
    if not len(starts) or length.max() > LONGEST_NUMBER:
        return None
    if not (may[0, raw[starts - 1]].all() and may[1, raw[ends]].all()):
        return None
    if ((raw[starts] == 48) & (length > 1)).any():
        return None
    words = np.ndarray((len(text) - 7,), "<u8", text, strides=(1,))
    values = _eight(words[ends - 8], np.minimum(length, 8))
    more = np.flatnonzero(length > 8)
    if len(more):
        values[more] += 100_000_000 * _eight(words[ends[more] - 16], length[more] - 8)
    newlines = np.flatnonzero(raw[len(MARGIN) :] == 10) + len(MARGIN)
    return values, np.concatenate([[0], np.searchsorted(starts, newlines)])


def _eight(word: Any, length: Any) -> Any:
    """The last `length` of eight digits, of which the first stands in the lowest byte."""
    import numpy as np

    unwanted = (8 * (8 - length)).astype(np.uint64)
    word = ((word & np.uint64(0x0F0F0F0F0F0F0F0F)) >> unwanted) << unwanted
    word = (word * np.uint64(2561)) >> np.uint64(8)
    word = ((word & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    word = ((word & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)
    return word.astype(np.int64)


@lru_cache(maxsize=8192)
def _form(skeleton: bytes, columns: tuple[tuple[str, str], ...]) -> Form | None:
    """What a line without its digits says of each of its numbers; None for what is no flat object of this map."""
    import orjson

    parts = GAP.split(skeleton)
    filled = b"".join(part + str(FIRST_MARK + index).encode() for index, part in enumerate(parts[:-1])) + parts[-1]
    try:
        row = orjson.loads(filled)
    except ValueError:
        return None
    if not isinstance(row, dict):
        return None
    found: dict[str, Any] = {name: row.get(column) for name, column in columns}
    blocks = found.pop("blocks", [])
    marks = range(FIRST_MARK, FIRST_MARK + len(parts) - 1)
    if not all(type(one) is int and one in marks for one in found.values()):
        return None
    # A list's numbers stand side by side, so that its first mark and its length tell all of them.
    if not isinstance(blocks, list) or (blocks and blocks != list(range(blocks[0], blocks[0] + len(blocks)))):
        return None
    at, given, made = (found[name] - FIRST_MARK for name in ("at", "input", "output"))
    return Form(len(parts) - 1, at, given, made, blocks[0] - FIRST_MARK if blocks else 0, len(blocks))
