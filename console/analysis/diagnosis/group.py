"""Replicas of one model side by side: the odd member is named, with the figure that makes it odd."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

# Replicas of one model on like hardware step within a few per cent of each other.
ODD = 0.08


@dataclass(frozen=True)
class Member:
    """One replica: its step time at a context that all were asked for, and its acceptance. None: not known."""

    step_ms: float | None = None
    accept_length: float | None = None
    version: str = ""
    signs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replica:
    """One replica as its diagnosis found it: the line of its step time, and where it was asked about."""

    intercept_ms: float | None = None
    slope_ms: float | None = None
    context_tokens: float | None = None
    accept_length: float | None = None
    version: str = ""
    signs: tuple[str, ...] = ()

    def at(self, context_tokens: float | None) -> Member:
        step_ms = None
        if self.intercept_ms is not None and self.slope_ms is not None and context_tokens is not None:
            step_ms = self.intercept_ms + self.slope_ms * context_tokens
        return Member(step_ms, self.accept_length, self.version, self.signs)


def side_by_side(replicas: Mapping[str, Replica]) -> tuple[float | None, dict[str, Member]]:
    """Every replica at one context, the median of where they were asked about: a step is compared at the same place."""
    known = [one.context_tokens for one in replicas.values() if one.context_tokens is not None]
    at = median(known) if known else None
    return at, {name: one.at(at) for name, one in replicas.items()}


@dataclass(frozen=True)
class Odd:
    target: str
    text: str


def odd_members(members: Mapping[str, Member]) -> tuple[Odd, ...]:
    """Who differs from the others. Of two that differ both are named: which of them is odd cannot be told."""
    found: list[Odd] = []
    found += _off("step", " ms", {name: one.step_ms for name, one in members.items()})
    found += _off("accept_length", "", {name: one.accept_length for name, one in members.items()})
    for name, member in members.items():
        others = [one for other, one in members.items() if other != name]
        versions = {one.version for one in others if one.version}
        if member.version and len(versions) == 1 and member.version not in versions:
            found.append(Odd(name, f"engine {member.version}, the others {min(versions)}"))
        if others:
            found.extend(Odd(name, sign) for sign in member.signs if all(sign not in one.signs for one in others))
    return tuple(found)


def _off(label: str, unit: str, values: Mapping[str, float | None]) -> Iterator[Odd]:
    known = {name: value for name, value in values.items() if value is not None}
    for name, mine in known.items():
        others = [value for other, value in known.items() if other != name]
        if not others:
            continue
        usual = median(known.values()) if len(known) > 2 else others[0]
        if abs(mine / usual - 1.0) > ODD:
            yield Odd(name, f"{label} {mine:.3g}{unit}, the others {usual:.3g}{unit}: {mine / usual:.2f}x")
