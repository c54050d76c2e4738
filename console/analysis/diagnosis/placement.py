"""Where the load of a group or of one server's replicas lies: hot ones, cold prefills after a scale-out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median, pstdev

from console.analysis.diagnosis.signs import COLD, Sign

UNEVEN = 0.5  # standard deviation of load over replicas, as a share of the mean
HIT_APART = 0.30
# A member is new that has run for less than an hour, and for less than half as long as any of the others.
FRESH_S, FRESH_SHARE = 3600.0, 0.5
AS_BUSY = 0.8  # of the others' load: less of it, and whoever places requests spares the new one already


@dataclass(frozen=True)
class Member:
    """One replica of a group or of a server: requests at once on average, and its share of cached tokens.

    `age_s`: how long its process has run. None: not known.
    """

    target: str
    running: float
    hit: float | None = None
    age_s: float | None = None


def placement(members: Sequence[Member]) -> Iterator[Sign]:
    """Uneven load, a new member that computes what others hold, and of even load a cache that stays cold."""
    if len(members) < 2:
        return
    new = [one for one in members if is_new(one, members)]
    for one in new:
        yield from _cold(one, [other for other in members if other not in new])
    apart = spread([one.running for one in members])
    if apart > UNEVEN:
        most = max(members, key=lambda one: one.running)
        least = min(members, key=lambda one: one.running)
        told = f"{most.target} has {most.running:.1f} requests at once, {least.target} {least.running:.1f}"
        yield Sign("placement", True, f"{told}: spread {apart:.0%} of the mean")
        return  # whoever has no load has nothing cached
    hits = {one.target: one.hit for one in members if one.hit is not None and one not in new}
    if len(hits) > 1 and max(hits.values()) - min(hits.values()) > HIT_APART:
        cold = min(hits, key=lambda name: hits[name])
        told = f"{cold} finds {hits[cold]:.0%} of its prompts cached, another {max(hits.values()):.0%}"
        yield Sign("placement", True, told)


def spread(loads: Sequence[float]) -> float:
    """The standard deviation of loads, as a share of their mean; 0 where there is none."""
    middle = mean(loads)
    return pstdev(loads) / middle if middle > 0 else 0.0


def _cold(new: Member, others: Sequence[Member]) -> Iterator[Sign]:
    """A new member with a cold cache: a fault of placement only where it is given as much as the others are."""
    hits = [other.hit for other in others if other.hit is not None]
    if new.hit is None or not hits or median(hits) - new.hit <= HIT_APART:
        return
    usual = median(other.running for other in others)
    if new.running <= 0 or new.running < AS_BUSY * usual:
        return
    told = f"{new.target} started {max(1, round((new.age_s or 0.0) / 60))} min ago and finds {new.hit:.0%} of its"
    told += f" prompts cached, the others {median(hits):.0%}; {new.running:.1f} requests at once against {usual:.1f}"
    yield Sign("placement", True, f"cold prefills after a scale-out: {told}", COLD)


def is_new(one: Member, members: Sequence[Member]) -> bool:
    """Whether it started lately beside members that run for longer; where all restarted none of them is."""
    if one.age_s is None or one.age_s >= FRESH_S:
        return False
    older = [other for other in members if other.age_s is not None and one.age_s < FRESH_SHARE * other.age_s]
    return 2 * len(older) >= len(members)
