"""The names and small values that several files share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
UNIT = re.compile(r"[A-Za-z0-9:_.\\-]+(@[A-Za-z0-9:_.\\-]*)?\.service")


class Frozen(BaseModel):
    """A value that is written by us: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Read(BaseModel):
    """A value that may come from a newer version of us: unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


def _check_name(value: str) -> str:
    if not NAME.fullmatch(value):
        raise ValueError(f"{value!r} is not a name: letters, digits, '.', '_', '-', starting with a letter or digit")
    return value


def _check_node(value: str) -> str:
    for part in value.split("/", 1):
        _check_name(part)
    return value


def _check_unit(value: str) -> str:
    if not UNIT.fullmatch(value) or len(value) > 255:
        raise ValueError(f"{value!r} is not a service unit's name, such as sglang-k26.service")
    return value


_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(value: Any) -> Any:
    """`30m`, `1h30m`, `45s` or a number of seconds, as seconds."""
    if isinstance(value, bool) or not isinstance(value, str):
        return value
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(ms|[smhd])", value)
    if not parts or "".join(number + unit for number, unit in parts) != value.replace(" ", ""):
        raise ValueError(f"{value!r} is not a duration such as 45s, 30m or 1h30m")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


Name = Annotated[str, AfterValidator(_check_name)]
NodeName = Annotated[str, AfterValidator(_check_node)]  # `host`, or `host/service`
UnitName = Annotated[str, AfterValidator(_check_unit)]
Seconds = Annotated[
    float,
    BeforeValidator(seconds),
    WithJsonSchema(
        {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^\s*(\d+(\.\d+)?\s*(ms|[smhd])\s*)+$"}]}
    ),
]


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?` for the closest known spelling, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
