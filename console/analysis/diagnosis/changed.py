"""Nothing changed? Compared with the facts of the last good record, level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Compared:
    """What differs from then, what is the same, and what cannot be told. Each a short sentence."""

    since: str
    differs: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        return not self.differs


def compare(before: Mapping[str, Any], now: Mapping[str, Any], since: str) -> Compared:
    """Two facts as records keep them (`schema.facts.Facts` as JSON), of `since` and of now."""
    differs: list[str] = []
    same: list[str] = []
    unknown: list[str] = []
    for name, read in _LOOKED_AT.items():
        was, is_now = read(before), read(now)
        if was in (None, "", (), {}) or is_now in (None, "", (), {}):
            unknown.append(name)
        elif was == is_now:
            same.append(name)
        else:
            differs.append(f"{name}: {_difference(was, is_now)}")
    differs.extend(_restarts(before, now))
    return Compared(since, tuple(differs), tuple(same), tuple(unknown))


def _at(*path: str) -> Callable[[Mapping[str, Any]], Any]:
    def read(facts: Mapping[str, Any]) -> Any:
        value: Any = facts
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    return read


def _files(facts: Mapping[str, Any]) -> dict[str, str]:
    """Path → digest of every file that decides the unit."""
    found = facts.get("files")
    return (
        {
            str(one.get("path")): str(one.get("sha256"))
            for one in found
            if isinstance(one, Mapping) and one.get("sha256")
        }
        if isinstance(found, Sequence)
        else {}
    )


def _gpus(facts: Mapping[str, Any]) -> tuple[str, ...]:
    found = _at("host", "gpus")(facts)
    return (
        tuple(str(gpu.get("uuid")) for gpu in found if isinstance(gpu, Mapping)) if isinstance(found, Sequence) else ()
    )


def _packages(facts: Mapping[str, Any]) -> tuple[str, ...]:
    found = _at("software", "packages")(facts)
    return tuple(map(str, found)) if isinstance(found, Sequence) and not isinstance(found, str) else ()


def _models(facts: Mapping[str, Any]) -> dict[str, str]:
    """Path of each config → its digest and the bytes of the weights beside it."""
    found = facts.get("models")
    return (
        {
            str(one.get("path")): f"{one.get('sha256')} {one.get('weights_bytes')}"
            for one in found
            if isinstance(one, Mapping) and one.get("sha256")
        }
        if isinstance(found, Sequence)
        else {}
    )


_LOOKED_AT: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "engine version": _at("serving", "version"),
    "packages": _packages,
    "driver": _at("host", "kernel_driver"),
    "kernel": _at("host", "kernel"),
    "image": _at("software", "image"),
    "model files": _models,
    "packages of the system": _at("software", "system_packages_at"),
    "files that decide the unit": _files,
    "command line": _at("process", "argv"),
    "GPUs": _gpus,
}


def _difference(was: object, now: object) -> str:
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        changed = [key for key in {**was, **now} if was.get(key) != now.get(key)]
        return ", ".join(changed)
    if isinstance(was, list | tuple) and isinstance(now, list | tuple):
        gone = [str(one) for one in was if one not in now]
        new = [str(one) for one in now if one not in was]
        return f"{' '.join(gone) or 'nothing'} -> {' '.join(new) or 'nothing'}"
    return f"{was} -> {now}"


def _restarts(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    was, is_now = _at("unit", "invocation_id")(before), _at("unit", "invocation_id")(now)
    if was and is_now and was != is_now:
        count = _at("unit", "n_restarts")(now)
        by_itself = f", {count} of them by itself" if isinstance(count, int) and count else ""
        yield f"the service was restarted since{by_itself}"
    was, is_now = _at("host", "boot_id")(before), _at("host", "boot_id")(now)
    if was and is_now and was != is_now:
        yield "the host was booted since"
