"""Reading our TOML files so that an error names file, line, key and the nearest right spelling."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from console.errors import InvalidFileError
from console.schema.names import nearest

Model = TypeVar("Model", bound=BaseModel)


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """The file's text and its table. Raises InvalidFileError for a missing, unreadable or malformed file."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise InvalidFileError(f"no such file{nearest(path.name, _beside(path))}", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise InvalidFileError(f"not UTF-8 at byte {error.start}", where=str(path)) from None
    except OSError as error:
        raise InvalidFileError(error.strerror or str(error), where=str(path)) from None
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = re.search(r"\(at line (\d+), column \d+\)", message)
        where = f"{path}:{at[1]}" if at else str(path)
        raise InvalidFileError(re.sub(r"\s*\(at .*\)$", "", message), where=where) from None


def _beside(path: Path) -> list[str]:
    """Names of the TOML files in the same folder; none where it cannot be read."""
    try:
        return [other.name for other in path.parent.iterdir() if other.suffix == ".toml"]
    except OSError:
        return []


_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY_PART = r"""(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)"""
_KEY_LINE = re.compile(rf"^\s*({_KEY_PART}(?:\s*\.\s*{_KEY_PART})*)\s*=")


@lru_cache(maxsize=1024)  # every step of every target's plan asks where it is written
def line_of(text: str, keys: tuple[str | int, ...]) -> int | None:
    """The line where a key path such as ("step", 3, "to") stands, as well as a text search can tell; 1-based.

    A number counts the tables of an array from 0. Where the key itself has no line (it is missing, or stands inside an
    inline table), the line of what holds it; None where nothing of the path has one.
    """
    best, best_length = None, 0
    for path, number in _places(text):
        if len(path) > best_length and path == keys[: len(path)]:
            best, best_length = number, len(path)
    return best


def _places(text: str) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Every header and every key at the start of a line, with its path from the root."""
    current: tuple[str | int, ...] = ()
    elements: dict[tuple[str | int, ...], int] = {}
    inside = ""  # the quotes of a string that goes on over lines
    for number, line in enumerate(text.splitlines(), start=1):
        if inside:
            inside = "" if line.count(inside) % 2 else inside
            continue
        if header := _HEADER.match(line):
            current = ()
            parts = _key_parts(header[2])
            for depth, part in enumerate(parts, start=1):
                current = (*current, part)
                if header[1] == "[[" and depth == len(parts):
                    elements[current] = elements.get(current, -1) + 1
                    yield current, number
                if current in elements:
                    current = (*current, elements[current])
            yield current, number
        elif key := _KEY_LINE.match(line):
            yield (*current, *_key_parts(key[1])), number
        inside = next((quotes for quotes in ('"""', "'''") if line.count(quotes) % 2), "")


def _key_parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_KEY_PART, dotted))


def _known_keys(model: type[BaseModel], location: tuple[str | int, ...]) -> list[str]:
    """Keys allowed beside the unknown one at the end of `location`."""
    here: Any = model
    for key in location[:-1]:
        if not (isinstance(here, type) and issubclass(here, BaseModel)):
            return []
        found = here.model_fields.get(str(key))
        if found is None:
            continue
        here = found.annotation
        for argument in getattr(here, "__args__", ()):
            if isinstance(argument, type) and issubclass(argument, BaseModel):
                here = argument
    if isinstance(here, type) and issubclass(here, BaseModel):
        return [field.alias or name for name, field in here.model_fields.items() if not field.exclude]
    return []


def validate(
    model: type[Model], table: Mapping[str, Any], *, path: Path | str, text: str = "", at: tuple[str | int, ...] = ()
) -> Model:
    """`table` as `model`; the first error becomes one InvalidFileError with file, line, key and nearest spelling."""
    for name, field in model.model_fields.items():
        if field.exclude and name in table:  # a field that we fill in ourselves is no key of the file
            line = line_of(text, (*at, name)) if text else None
            raise InvalidFileError(f"unknown key {name!r} in the file", where=f"{path}:{line}" if line else str(path))
    try:
        return model.model_validate(table)
    except ValidationError as problem:
        # An unknown key is often why another is missing: the misspelt one is what to say.
        errors = sorted(problem.errors(include_url=False), key=lambda error: error["type"] != "extra_forbidden")
        error = errors[0]
        location = (*at, *(key for key in error["loc"] if key != "[key]"))
        said = str(error["msg"]).removeprefix("Value error, ")
        if not error["loc"] and (named := re.match(r"([A-Za-z0-9_.-]+): ", said)):
            location, said = (*at, *named[1].split(".")), said[named.end() :]
        line = line_of(text, location) if text else None
        where = f"{path}:{line}" if line else str(path)
        key = ".".join(str(part + 1) if isinstance(part, int) else str(part) for part in location)
        if error["type"] == "extra_forbidden":
            word = str(location[-1])
            message = f"unknown key {word!r} in {key.rpartition('.')[0] or 'the file'}"
            message += nearest(word, _known_keys(model, tuple(error["loc"])))
        elif error["type"] == "missing":
            holder = error["input"] if isinstance(error["input"], Mapping) else {}
            near = difflib.get_close_matches(str(location[-1]), [str(name) for name in holder], n=1, cutoff=0.6)
            message = f"{key} is missing{f'; is {near[0]!r} meant to be it?' if near else ''}"
        elif error["type"] == "tuple_type" and isinstance(error["input"], Mapping):
            message = f"{key} is a list of tables: write [[{key}]]"
        else:
            message = f"{key}: {said}" if key else said
        raise InvalidFileError(message, where=where) from None


def check_schema(table: Mapping[str, Any], *, path: Path | str, newest: int = 1) -> None:
    """Refuse a file without `schema`, or of a schema newer than this program."""
    version = table.get("schema")
    if version is None:
        raise InvalidFileError("the file must start with 'schema = 1'", where=str(path))
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidFileError(f"schema = {version!r} is not a version", where=str(path))
    if version > newest:
        raise InvalidFileError(
            f"schema = {version}, this program reads up to {newest}", where=str(path), hint="use a newer console"
        )
