"""A piece of a trace, line by line, by its column map: slow, exact about what is wrong with which line."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from console.analysis.workload.batch import LONGEST_TOKENS, Batch, hashed
from console.analysis.workload.column_map import UNITS, ColumnMap
from console.analysis.workload.moments import moment_us, tokens

NO_ZONE = "time without a zone, taken as UTC"
Row = Mapping[str, Any]


class Rows:
    """Collects requests one by one into a Batch."""

    def __init__(self, columns: ColumnMap, first_line: int, lines: int) -> None:
        import numpy as np

        self.map = columns
        empty = np.empty(0, dtype=np.int64)
        self.batch = Batch(lines, empty, empty, empty, first_line=first_line)
        self.kept: dict[str, list[int]] = {name: [] for name in ("line", "at", "ended", *REST)}
        self.blocks: list[int] = []
        self.blocks_n: list[int] = []

    def take(self, line: int, row: Row) -> None:
        """One request, or a complaint that names its line."""
        try:
            self._take(line, row)
        except (ValueError, TypeError, OverflowError) as error:
            self.batch.bad.add(str(error)[:80], line)

    def _take(self, line: int, row: Row) -> None:
        at = self._get(row, "at")
        if at is None:
            raise ValueError(f"no column {self.map.columns['at']}")
        at_us, zoned = moment_us(at, self.map.time)
        given, made = (self._length(row, name) for name in ("input", "output"))
        if self.map.failed_without_output and made == 0:
            self.batch.failed += 1
            return
        ended_us = self._ended(row, at_us)
        if self.map.at_is == "end":
            ended_us, at_us = at_us, (at_us - (ended_us - at_us) if ended_us >= 0 else at_us)
        blocks = self._blocks(row)
        if not zoned:
            self.batch.told.add(NO_ZONE, line)
        cached = self._get(row, "cached")
        turn = self._get(row, "turn")
        kept = self.kept
        kept["line"].append(line)
        kept["at"].append(at_us)
        kept["ended"].append(ended_us)
        kept["input"].append(given)
        kept["output"].append(made)
        kept["cached"].append(-1 if cached is None else tokens(cached, "cached tokens", LONGEST_TOKENS))
        kept["turn"].append(-1 if turn is None else tokens(turn, "turn", LONGEST_TOKENS))
        for name in ("session", "ident", "parent"):
            value = self._get(row, "id" if name == "ident" else name)
            kept[name].append(0 if value in (None, "", -1, "-1") else hashed(value))
        self.blocks += blocks
        self.blocks_n.append(len(blocks))

    def _get(self, row: Row, name: str) -> Any:
        path = self.map.columns.get(name)
        if path is None:
            return None
        value: Any = row
        for word in path.split("/") if self.map.file == "jsonl" else (path,):
            if not isinstance(value, Mapping):
                return None
            value = value.get(word)
        return value

    def _length(self, row: Row, name: str) -> int:
        value = self._get(row, name)
        if value is None:
            raise ValueError(f"no column {self.map.columns[name]}")
        return tokens(value, f"{name} length", LONGEST_TOKENS)

    def _ended(self, row: Row, at_us: int) -> int:
        ended = self._get(row, "ended")
        if ended not in (None, ""):
            found, _ = moment_us(ended, self.map.time)
            if found < at_us:
                raise ValueError("it ends before it begins")
            return found
        took = self._get(row, "duration")
        if took in (None, ""):
            return -1
        spent = float(took) * UNITS[self.map.duration_unit]
        if not 0 <= spent < 1e13:
            raise ValueError("absurd duration")
        return at_us + round(spent)

    def _blocks(self, row: Row) -> list[int]:
        value = self._get(row, "blocks")
        if value is None:
            return []
        if not isinstance(value, list):
            raise ValueError(f"{self.map.columns['blocks']} is not a list")  # noqa: TRY004 - one kind of complaint
        whole = all(isinstance(one, int) and abs(one) < 1 << 63 for one in value)
        return value if whole else [hashed(one) for one in value]

    def done(self) -> Batch:
        import numpy as np

        def column(name: str) -> Any:
            return np.array(self.kept[name], dtype=np.int64)

        batch, has = self.batch, self.map.columns
        batch.at_us, batch.input, batch.output, batch.line = (column(n) for n in ("at", "input", "output", "line"))
        batch.ended_us = column("ended") if {"ended", "duration"} & set(has) else None
        batch.cached = column("cached") if "cached" in has else None
        batch.turn = column("turn") if "turn" in has else None
        batch.session = column("session") if "session" in has else None
        batch.ident = column("ident") if "id" in has else None
        batch.parent = column("parent") if "parent" in has else None
        if "blocks" in has:
            batch.blocks = np.array(self.blocks, dtype=np.int64)
            batch.blocks_n = np.array(self.blocks_n, dtype=np.int64)
        return batch


REST = ("input", "output", "cached", "turn", "session", "ident", "parent")


def of_json_lines(lines: Sequence[bytes], first_line: int, columns: ColumnMap, *, torn: bool = False) -> Batch:
    """Lines of JSON. `torn`: the last one has no end, so that it may be half a line."""
    import orjson

    rows = Rows(columns, first_line, len(lines))
    for number, line in enumerate(lines, first_line):
        text = line.strip()
        if columns.prefix and b"{" in text:
            text = text[text.index(b"{") :]
        elif columns.prefix or not text:
            rows.batch.others += 1
            continue
        try:
            value = orjson.loads(text)
        except ValueError:
            last = torn and number == first_line + len(lines) - 1
            if last:
                rows.batch.told.add("cut off in the middle of the last line", number)
            elif columns.prefix:
                rows.batch.others += 1
            else:
                rows.batch.bad.add("not JSON", number)
            continue
        for one in _each(value, columns.each):
            if not isinstance(one, dict):
                rows.batch.bad.add("not an object", number)
            elif columns.only and not all(_at(one, path) == wanted for path, wanted in columns.only):
                rows.batch.others += 1
            else:
                rows.take(number, _paired(one, columns.pairs))
    return rows.done()


def of_csv_lines(
    lines: Sequence[bytes], first_line: int, columns: ColumnMap, header: Sequence[str], *, torn: bool = False
) -> Batch:
    """Lines of CSV below their header; CR LF or LF."""
    rows = Rows(columns, first_line, len(lines))
    texts = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
    reader = csv.reader(_without_nul(texts), delimiter=columns.separator)
    number = first_line - 1
    while True:
        try:
            values = next(reader)
        except StopIteration:
            break
        except csv.Error:
            number = first_line + reader.line_num - 1
            rows.batch.bad.add("not CSV", number)
            continue
        number = first_line + reader.line_num - 1
        if not values:
            rows.batch.others += 1
        elif len(values) != len(header):
            if torn and number == first_line + len(lines) - 1:
                rows.batch.told.add("cut off in the middle of the last line", number)
            else:
                rows.batch.bad.add(f"not {len(header)} columns", number)
        else:
            rows.take(number, dict(zip(header, values, strict=True)))
    return rows.done()


def _without_nul(texts: Iterable[str]) -> Iterator[str]:
    return (text.replace("\0", "") for text in texts)


def _each(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    if not path:
        yield value
        return
    found = value.get(path[0]) if isinstance(value, dict) else None
    for one in found if isinstance(found, list) else ():
        yield from _each(one, path[1:])


def _at(row: Row, path: str) -> str:
    value: Any = row
    for word in path.split("/"):
        value = value.get(word) if isinstance(value, Mapping) else None
    return str(value)


def _paired(row: Row, name: str) -> Row:
    """The row with its list of key and value as an object; OTLP writes 64-bit numbers as text."""
    pairs = row.get(name) if name else None
    if not isinstance(pairs, list):
        return row
    values = {}
    for pair in pairs:
        if isinstance(pair, dict) and isinstance(pair.get("value"), dict):
            values[str(pair.get("key"))] = next(iter(pair["value"].values()), None)
    return {**row, name: values}
