"""Where the requests of a load were at work: the data-parallel replicas of one server, look by look or by its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean

from console.analysis.diagnosis.production import production_of
from console.analysis.diagnosis.window import Said, number
from console.engines.base import LogLine
from console.schema.loads import Level, ReplicaLoad


@dataclass
class ReplicaLooks:
    """Requests at work of each replica, a look at a time; and the engine's count of requests it took back."""

    looks: list[Mapping[str, int]] = field(default_factory=list)
    counted: list[float] = field(default_factory=list)

    def add(self, running: Mapping[str, int], retracted: float | None) -> None:
        self.looks += [running] if any(running.values()) else []  # before the first and after the last nothing is told
        self.counted += [] if retracted is None else [retracted]

    @property
    def retracted(self) -> int | None:
        """Since the first look; None where it is not counted, or another process began to count."""
        if len(self.counted) < 2 or self.counted[-1] < self.counted[0]:
            return None
        return round(self.counted[-1] - self.counted[0])

    def loads(self) -> tuple[ReplicaLoad, ...]:
        names = sorted({name for look in self.looks for name in look}, key=in_order)
        by_name = {name: [look.get(name, 0) for look in self.looks] for name in names}
        return tuple(
            ReplicaLoad(name=name, running=round(mean(seen), 3), running_most=max(seen))
            for name, seen in by_name.items()
        )


def with_log(level: Level, engine: str, lines: Sequence[LogLine], replicas: int) -> Level:
    """The level, and where its looks told nothing of replicas or of requests taken back, what its log says of them.

    `lines` are those of the level's time. `replicas`: of one server, by its settings; one without a line was idle.
    """
    retracted = sum(max(1, int(number(line.values, "retracted") or 0)) for line in lines if line.cause == "retracted")
    changed: dict[str, object] = {}
    if retracted > (level.retracted or 0):
        changed["retracted"] = retracted
    loads = level.replicas or of_lines(engine, lines, max((one.ended_s or 0.0 for one in level.requests), default=0.0))
    if loads:
        named = {one.name for one in loads}
        prefix = loads[0].name.rstrip("0123456789")
        idle = [f"{prefix}{number}" for number in range(replicas) if f"{prefix}{number}" not in named]
        both = (*loads, *(ReplicaLoad(name=name, running=0.0, running_most=0) for name in idle))
        changed["replicas"] = tuple(sorted(both, key=lambda one: in_order(one.name)))
    return level.model_copy(update=changed)


def of_lines(engine: str, lines: Sequence[LogLine], span_s: float) -> tuple[ReplicaLoad, ...]:
    """Seconds at work by the replica that a batch line names, over the level's time; nothing where none is named."""
    label, prefix = ("dp_rank", "dp") if engine == "sglang" else ("engine", "engine ")
    by_rank: dict[int, list[Said]] = {}
    for line in lines:
        # Every tensor-parallel rank may log, and all of a replica say the same.
        if line.kind == "decode" and label in line.values:
            by_rank.setdefault(int(number(line.values, label) or 0), []).append(Said(0.0, line))
    found: list[ReplicaLoad] = []
    for rank, said in sorted(by_rank.items()):
        seen = production_of(engine, first_speaker(said))
        if seen is not None and span_s > 0:
            most = max(int(number(one.line.values, "running") or 0) for one in said)
            name = f"{prefix}{rank}"
            found.append(ReplicaLoad(name=name, running=round(seen.request_s / span_s, 3), running_most=most))
    return tuple(found)


def first_speaker(said: Sequence[Said]) -> list[Said]:
    """The lines of the lowest tensor-parallel rank among them."""
    lowest = min(int(number(one.line.values, "tp_rank") or 0) for one in said)
    return [one for one in said if int(number(one.line.values, "tp_rank") or 0) == lowest]


def in_order(name: str) -> tuple[str, int]:
    """dp2 before dp10."""
    word = name.rstrip("0123456789")
    number = name[len(word) :]
    return word, int(number) if number else 0
