"""Replicas side by side, from the events of one diagnosis of them all: who is odd, and by which figure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from console.analysis.diagnosis.group import Member, Odd, Replica, odd_members, side_by_side
from console.schema.events import ConclusionMade, Event, FactsRead, FindingMade


@dataclass
class _Seen:
    figures: dict[str, float] = field(default_factory=dict)
    context_tokens: float | None = None
    version: str = ""
    signs: list[str] = field(default_factory=list)


class Replicas:
    """Hears the events of a run; `odd` says who differs once it is over."""

    def __init__(self) -> None:
        self.seen: dict[str, _Seen] = {}

    def event(self, event: Event) -> None:
        if not event.target:
            return
        seen = self.seen.setdefault(event.target, _Seen())
        if isinstance(event, FindingMade) and isinstance(event.value, int | float):
            seen.figures[event.name] = float(event.value)
            if event.name == "log_step_time" and isinstance(event.context_tokens, int):
                seen.context_tokens = float(event.context_tokens)
        elif isinstance(event, ConclusionMade) and event.kind == "hardware":
            seen.signs.append(event.text)
        elif isinstance(event, FactsRead):
            serving: Any = event.facts.get("serving")
            seen.version = str(serving.get("version") or "") if isinstance(serving, dict) else seen.version

    @property
    def context_tokens(self) -> float | None:
        """One context for all: a step is compared at the same place."""
        return side_by_side(self._replicas())[0]

    def members(self) -> dict[str, Member]:
        return side_by_side(self._replicas())[1]

    def _replicas(self) -> dict[str, Replica]:
        return {
            name: Replica(
                one.figures.get("step_time_intercept"),
                one.figures.get("step_time_slope"),
                one.context_tokens,
                one.figures.get("log_accept_length"),
                one.version,
                tuple(one.signs),
            )
            for name, one in self.seen.items()
        }

    def odd(self) -> tuple[Odd, ...]:
        return odd_members(self.members()) if len(self.seen) > 1 else ()

    def lines(self) -> Iterator[str]:
        """For people: each member's figures, then who is odd."""
        at = self.context_tokens
        if len(self.seen) < 2:
            return
        yield f"side by side{f', at {at:,.0f} tokens' if at is not None else ''}:"
        for name, member in self.members().items():
            step = f"{member.step_ms:.1f} ms" if member.step_ms is not None else "no curve"
            accept = f"{member.accept_length:.2f}" if member.accept_length is not None else "-"
            yield f"  {name:<28} step {step:>9}   avg commit {accept:>5}   {member.version}"
        odd = self.odd()
        for one in odd:
            yield f"  odd: {one.target}: {one.text}"
        if not odd:
            yield "  no member is odd"
