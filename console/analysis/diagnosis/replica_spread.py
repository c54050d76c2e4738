"""How evenly a load lies over the data-parallel replicas of one server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.analysis.diagnosis.placement import UNEVEN, spread
from console.schema.loads import ReplicaLoad


@dataclass(frozen=True)
class ReplicaSpread:
    """`share`: the standard deviation of requests at work over replicas, as a share of their mean."""

    replicas: int
    share: float
    hottest: ReplicaLoad
    coolest: ReplicaLoad

    @property
    def uneven(self) -> bool:
        return self.share > UNEVEN

    def sentence(self) -> str:
        told = f"{self.share:.0%} of the mean over {self.replicas} replicas"
        hot, cool = self.hottest, self.coolest
        if hot.running == cool.running:
            return f"{told}: {hot.running:.1f} requests at once on each"
        most = f" (most {hot.running_most})" if hot.running_most is not None else ""
        return f"{told}; hottest {hot.name}: {hot.running:.1f} requests at once{most}, {cool.name} {cool.running:.1f}"


def replica_spread(replicas: Sequence[ReplicaLoad]) -> ReplicaSpread | None:
    """None for one replica, and where nothing ran on any."""
    loads = [one.running for one in replicas]
    if len(loads) < 2 or not any(loads):
        return None
    hottest = max(replicas, key=lambda one: one.running)
    coolest = min(replicas, key=lambda one: one.running)
    return ReplicaSpread(len(loads), spread(loads), hottest, coolest)


def why_not(replicas: Sequence[ReplicaLoad], expected: int) -> str:
    """Why there is no spread to tell. `expected`: replicas of the server by its settings."""
    if len(replicas) > 1:
        return "nothing ran on any replica"
    return "one replica: n/a" if expected < 2 else f"the engine does not say which of its {expected} replicas runs what"
