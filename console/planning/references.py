"""`{{ name }}` and `{{ name.field }}`: the only expressions a runbook has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from console.errors import InvalidFileError
from console.schema.facts import FACT_NAMES, Facts
from console.schema.hosts import Target
from console.schema.names import nearest
from console.schema.runbook import Value

_BRACES = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NAME = re.compile(r"\s*([A-Za-z][A-Za-z0-9_-]*(?:\.[A-Za-z][A-Za-z0-9_]*)?)\s*")

HOST_NAMES = frozenset({"host.name", "host.address"})
SERVICE_NAMES = frozenset({"service.name", "service.unit", "service.engine", "service.url"})
UNKNOWN = "unknown"


def known_names(variables: Iterable[str]) -> frozenset[str]:
    """Every name a reference may use."""
    return frozenset(variables) | HOST_NAMES | SERVICE_NAMES | {f"facts.{name}" for name in FACT_NAMES}


def names_in(text: str, *, where: str = "") -> list[str]:
    """The names a text refers to. Raises InvalidFileError when something else stands between the braces."""
    names = []
    for match in _BRACES.finditer(text):
        inner = _NAME.fullmatch(match[1])
        if inner is None:
            raise InvalidFileError(
                f"{match[0]!r}: only a name may stand between the braces",
                where=where,
                hint="{{ name }} or {{ name.field }}",
            )
        names.append(inner[1])
    if "{{" in _BRACES.sub("", text):
        raise InvalidFileError(f"'{{{{' is not closed in {text!r}", where=where)
    return names


def check(value: Any, known: frozenset[str], *, where: str) -> None:
    """Refuse a reference to a name that does not exist, in a value of any depth."""
    if isinstance(value, str):
        for name in names_in(value, where=where):
            if name not in known:
                raise InvalidFileError(f"unknown reference {name!r}{nearest(name, known)}", where=where)
    elif isinstance(value, Mapping):
        for item in value.values():
            check(item, known, where=where)
    elif isinstance(value, list | tuple):
        for item in value:
            check(item, known, where=where)


def values_of(target: Target, variables: Mapping[str, Value], facts: Facts | None) -> dict[str, Any]:
    """Every name with its value; a fact that was not seen is None."""
    values: dict[str, Any] = dict(variables)
    values |= {"host.name": target.host_name, "host.address": target.address}
    values |= {
        "service.name": target.service_name,
        "service.unit": target.service.unit,
        "service.engine": target.service.engine,
        "service.url": target.service.url,
    }
    seen: Mapping[str, Any] = facts.names() if facts else dict.fromkeys(FACT_NAMES)
    return values | {f"facts.{name}": value for name, value in seen.items()}


def render(value: Any, values: Mapping[str, Any]) -> Any:
    """`value` with its references replaced. One that is a single reference keeps the type of what it names."""
    if isinstance(value, str):
        single = re.fullmatch(r"\{\{" + _NAME.pattern + r"\}\}", value)
        if single:
            found = values[single[1]]
            return UNKNOWN if found is None else found
        return _BRACES.sub(lambda match: as_text(values[match[1].strip()]), value)
    if isinstance(value, Mapping):
        return {key: render(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [render(item, values) for item in value]
    return value


def as_text(value: Any) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def holds(when: str, values: Mapping[str, Any]) -> bool:
    """Whether `when = "name"` or `"not name"` holds: empty, false, 0 and unknown do not."""
    name, wanted = condition(when)
    return bool(values[name]) is wanted


def condition(when: str) -> tuple[str, bool]:
    """The name a `when` asks about, and what it must be."""
    words = when.split()
    if len(words) == 2 and words[0] == "not":
        return words[1], False
    return when.strip(), True
