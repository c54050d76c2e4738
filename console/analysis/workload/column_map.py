"""Column maps: where a trace of some kind says when a request came and how long it was. One TOML file a kind."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import Literal

from console.errors import InvalidFileError

TimeUnit = Literal["iso", "s", "ms", "us", "ns"]
UNITS: Mapping[str, int] = {"s": 1_000_000, "ms": 1_000, "us": 1}

# What a map may point at. `blocks` are hashes of a prompt's prefix, one a block; `session`, `id` and `parent`
# (the id of the turn before) are kept as hashes.
COLUMNS = ("at", "ended", "duration", "input", "output", "cached", "session", "turn", "blocks", "id", "parent")
KEYS = {
    "schema",
    "name",
    "title",
    "source",
    "file",
    "time",
    "duration_unit",
    "at_is",
    "block_tokens",
    "each",
    "separator",
}
KEYS |= {"prefix", "columns", "recognise", "only", "pairs", "failed_without_output"}


@dataclass(frozen=True)
class ColumnMap:
    """How to read one kind of trace.

    `columns`: name of ours → the column, or a path through nested objects divided by `/`. `only`: path → value that a
    line must have, others are counted as no requests. `each`: lists to go through, outermost first (OTLP). `pairs`: a
    list of `{key, value}` that stands for an object. `prefix`: text before the first `{` is dropped (a log).
    """

    name: str
    title: str
    file: Literal["jsonl", "csv"]
    columns: Mapping[str, str]
    time: TimeUnit = "s"
    duration_unit: Literal["s", "ms", "us"] = "s"
    at_is: Literal["start", "end"] = "start"
    block_tokens: int = 0
    each: tuple[str, ...] = ()
    pairs: str = ""
    separator: str = ","
    prefix: bool = False
    failed_without_output: bool = False
    recognise: tuple[str, ...] = ()
    only: tuple[tuple[str, str], ...] = ()

    @property
    def flat(self) -> bool:
        """Whether every line is one flat object with plain columns, that can be read many at a time."""
        nested = any("/" in path for path in self.columns.values())
        return self.file == "jsonl" and not (nested or self.each or self.pairs or self.prefix or self.only)


def read_map(text: str, where: str) -> ColumnMap:
    """A map from its TOML. Raises InvalidFileError with the key and the nearest right one."""
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidFileError(f"not TOML: {error}", where=where) from None
    if told.get("schema") != 1:
        raise InvalidFileError("a column map starts with schema = 1", where=where)
    _known(told, KEYS, where)
    columns = told.get("columns", {})
    _known(columns, set(COLUMNS), f"{where}: [columns]")
    missing = [name for name in ("at", "input", "output") if name not in columns]
    if missing or not all(isinstance(path, str) and path for path in columns.values()):
        raise InvalidFileError("[columns] needs text for at, input and output", where=where)
    if told.get("file") not in ("jsonl", "csv") or told.get("time", "s") not in ("iso", "s", "ms", "us", "ns"):
        raise InvalidFileError("file is jsonl or csv, time is iso, s, ms, us or ns", where=where)
    if told.get("duration_unit", "s") not in UNITS or told.get("at_is", "start") not in ("start", "end"):
        raise InvalidFileError("duration_unit is s, ms or us, at_is is start or end", where=where)
    if "blocks" in columns and int(told.get("block_tokens", 0)) <= 0:
        raise InvalidFileError("a map with blocks says how many tokens a block has: block_tokens", where=where)
    return ColumnMap(
        name=str(told.get("name", where)),
        title=str(told.get("title", "")),
        file=told["file"],
        columns=columns,
        time=told.get("time", "s"),
        duration_unit=told.get("duration_unit", "s"),
        at_is=told.get("at_is", "start"),
        block_tokens=int(told.get("block_tokens", 0)),
        each=tuple(told.get("each", ())),
        pairs=str(told.get("pairs", "")),
        separator=str(told.get("separator", ",")),
        prefix=bool(told.get("prefix", False)),
        failed_without_output=bool(told.get("failed_without_output", False)),
        recognise=tuple(told.get("recognise", columns.values())),
        only=tuple((key, str(value)) for key, value in told.get("only", {}).items()),
    )


def _known(told: Mapping[str, object], keys: set[str], where: str) -> None:
    for key in told:
        if key not in keys:
            near = get_close_matches(key, sorted(keys), 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(keys))}"
            raise InvalidFileError(f"unknown key {key}", where=where, hint=hint)


@cache
def shipped() -> tuple[ColumnMap, ...]:
    """The maps that come with the program, the more particular first."""
    folder = resources.files("console.analysis.workload") / "maps"
    found = [read_map(one.read_text("utf-8"), one.name) for one in folder.iterdir() if one.name.endswith(".toml")]
    return tuple(sorted(found, key=lambda one: (-len(one.recognise), one.name)))


def named(name: str) -> ColumnMap:
    """A shipped map. Raises InvalidFileError."""
    for one in shipped():
        if one.name == name:
            return one
    known = ", ".join(sorted(one.name for one in shipped()))
    raise InvalidFileError(f"no column map {name}", hint=f"known: {known}; or the path of a TOML file of your own")


def recognise(head: Sequence[bytes]) -> ColumnMap | None:
    """The map whose columns all stand in one of the first lines; None where no map knows them."""
    texts = [line.decode("utf-8", "replace").lstrip("\ufeff") for line in head if line.strip()]
    if not texts:
        return None
    header = {word.strip().strip('"') for word in texts[0].split(",")}
    for one in shipped():
        if one.file == "csv" and set(one.recognise) <= header:
            return one
        if one.file == "jsonl" and any(all(f'"{word}"' in text for word in one.recognise) for text in texts):
            return one
    return None
