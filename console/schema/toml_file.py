"""Reading our TOML files so that an error names file, line, key and the nearest right spelling."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
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
        raise InvalidFileError("no such file", where=str(path)) from None
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


def line_of(text: str, keys: tuple[str | int, ...]) -> int | None:
    """The line where a key path such as ("step", 3, "to") stands, as well as a text search can tell; 1-based."""
    wanted_tables = [str(key) for key in keys if not isinstance(key, int)]
    index = next((key for key in keys if isinstance(key, int)), None)
    header = re.compile(r"^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
    current: list[str] = []
    seen_of_array = -1
    best: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if match := header.match(line):
            current = [part.strip().strip("\"'") for part in match[1].split(".")]
            if line.lstrip().startswith("[[") and index is not None and current == wanted_tables[: len(current)]:
                seen_of_array += 1
        in_element = index is None or seen_of_array == index
        if current == wanted_tables[: len(current)] and in_element:
            if header.match(line):
                if current and (best is None or len(current) > 0):
                    best = number
                continue
            key = re.match(r"""\s*["']?([A-Za-z0-9_.-]+)["']?\s*=""", line)
            rest = wanted_tables[len(current) :]
            if key and rest and key[1].split(".")[0] == rest[0]:
                return number
    return best


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
    try:
        return model.model_validate(table)
    except ValidationError as problem:
        error = problem.errors(include_url=False)[0]
        location = (*at, *(key for key in error["loc"] if key != "[key]"))
        line = line_of(text, location) if text else None
        where = f"{path}:{line}" if line else str(path)
        key = ".".join(str(part + 1) if isinstance(part, int) else str(part) for part in location)
        if error["type"] == "extra_forbidden":
            word = str(location[-1])
            message = f"unknown key {word!r} in {key.rpartition('.')[0] or 'the file'}"
            message += nearest(word, _known_keys(model, tuple(error["loc"])))
        elif error["type"] == "missing":
            message = f"{key} is missing"
        else:
            message = f"{key}: {error['msg'].removeprefix('Value error, ')}" if key else str(error["msg"])
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
