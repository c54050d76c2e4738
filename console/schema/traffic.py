"""How busy an engine is, and what it has counted, in engine-neutral words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields


@dataclass(frozen=True)
class Traffic:
    """Requests at this moment; None: the engine does not say."""

    running: int | None = None
    queued: int | None = None
    by_replica: Mapping[str, int] = field(default_factory=dict)  # running; empty: it does not say

    @property
    def total(self) -> int | None:
        known = [count for count in (self.running, self.queued) if count is not None]
        return sum(known) if known else None


@dataclass(frozen=True)
class Counted:
    """Counters of one engine process since its start; None: it has none such."""

    requests: float | None = None  # finished
    generated_tokens: float | None = None
    steps: float | None = None  # verify steps, each with a draft
    iterations: float | None = None  # of the engine's loop, prefill among them
    accepted: float | None = None  # drafted tokens that were committed


@dataclass(frozen=True)
class Counters:
    """Counters by the label of the engine process they belong to: ranks are never added up before differences."""

    by_engine: Mapping[str, Counted] = field(default_factory=dict)

    def since(self, before: Counters) -> Counted | None:
        """What was counted since `before`; None when there is nothing to compare, or a counter went back."""
        if not self.by_engine or self.by_engine.keys() != before.by_engine.keys():
            return None
        sums: dict[str, float | None] = {}
        for name in (each.name for each in fields(Counted)):
            total: float | None = 0.0
            for label, now in self.by_engine.items():
                new, old = getattr(now, name), getattr(before.by_engine[label], name)
                if new is None or old is None:
                    total = None
                elif new < old:
                    return None  # another process counts now
                elif total is not None:
                    total += new - old
            sums[name] = total
        return Counted(**sums)
