"""The shape of an engine's log table: one row a kind of line, with the example that proves it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from console.engines.base import LineKind, LogLine

Values = Mapping[str, float | int | str]

# journald passes lines of up to 48 KiB; what a table looks for stands at their beginning.
_LOOK_AT = 2000


@dataclass(frozen=True)
class Row:
    """One kind of line. The first row of a table that matches wins.

    `pattern` is searched in the text after the engine's prefix; its named groups become values, `done` and `total`
    apart. `fields` reads more values from the whole text. `known_from` says the releases or the source of the wording.
    """

    kind: LineKind
    pattern: re.Pattern[str]
    known_from: str
    example: str
    cause: str = ""
    certainty: int = 0
    fields: Callable[[str], Values] | None = None


def row_for(table: Iterable[Row], text: str) -> tuple[Row, re.Match[str]] | None:
    """The first row whose pattern is found in `text`, with its match."""
    head = text[:_LOOK_AT]
    for row in table:
        match = row.pattern.search(head)
        if match:
            return row, match
    return None


def read_line(table: Iterable[Row], text: str, shown: str, prefix: Values) -> LogLine | None:
    """`text` as the table reads it; `shown` is the line as a person should see it, `prefix` the values before it."""
    found = row_for(table, text)
    if found is None:
        return None
    row, match = found
    values: dict[str, float | int | str] = dict(prefix)
    values.update({name: number(value) for name, value in match.groupdict().items() if value is not None})
    if row.fields is not None:
        values.update(row.fields(text))
    done, total = values.pop("done", None), values.pop("total", None)
    return LogLine(
        kind=row.kind,
        text=shown,
        values=values,
        done=done if isinstance(done, int) else None,
        total=total if isinstance(total, int) else None,
        cause=row.cause,
        certainty=row.certainty,
    )


def number(text: str) -> int | float | str:
    """`text` as int or float where it is one, else as it stands."""
    if len(text) <= 18 and text.isascii():
        if text.removeprefix("-").isdigit():
            return int(text)
        if re.fullmatch(r"-?\d+\.\d+", text):
            return float(text)
    return text


def split_lines(text: str) -> Iterator[str]:
    r"""The lines of a log, split at \n and \r: progress bars overwrite themselves with \r and end no line."""
    return (line for line in re.split(r"[\r\n]+", text) if line.strip())


def most_certain(lines: Iterable[LogLine]) -> LogLine | None:
    """The failure line of the highest certainty; of equals the first, because what follows it is its consequence."""
    return max((line for line in lines if line.kind == "failure"), key=lambda line: line.certainty, default=None)
