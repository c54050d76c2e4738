"""`gate.performance`: is it no slower than before? Median and p95, against an earlier run of the same target."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from console.analysis.statistics.gate import Better, judge
from console.analysis.workload.bands import in_band, place_of
from console.measure.latencies import served
from console.results.queries.loads import known_loads
from console.schema.events import FindingMade
from console.schema.hosts import Target
from console.schema.loads import Level
from console.schema.plan import OnAbort
from console.steps.base import Step, StepIO, StepResult

Metric = Literal["ttft", "itl", "e2e"]
LOWER: Better = "lower"


class GatePerformance(Step):
    """Compares the load or replay that this run measured before this step with earlier ones of the same kind.

    `against`: `newest` (the newest record of this target that has such a measurement), a run's id, `baseline NAME` (of
    `console measure baseline --name NAME`), or `before`: the same measurement in this run, before its restart. `band`:
    only the requests of one band of a replay, such as `input:4096-16384`. A better median with a worse p95 is no pass.
    `tolerance` is the share that may be lost. `inconclusive`: what becomes of an answer so wide that it would hide a
    loss of a tenth, and of nothing to compare with.
    """

    uses: ClassVar[str] = "gate.performance"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "is it no slower than before?"

    metric: Metric = "e2e"
    against: str = "newest"
    band: str = "all"
    tolerance: float = Field(default=0.03, ge=0, le=1)
    inconclusive: Literal["fail", "pass"] = "pass"

    @field_validator("band")
    @classmethod
    def _is_band(cls, value: str) -> str:
        place_of(value)
        return value

    def title(self, target: Target) -> str:
        of = "" if self.band == "all" else f" of {self.band}"
        than = "before" if self.against in ("newest", "before") else self.against
        return f"is {self.metric}{of} no worse than {than}, median and p95?"

    async def run(self, io: StepIO) -> StepResult:
        own = self.against == "before"
        loads = io.loads[len(io.loads_before) :] if own else io.loads
        now = [level for level in loads if level.state == "measured"]
        if not now:
            return self._unsure("nothing was measured in this run that could be compared")
        kind = kind_of(now[-1])
        earlier: Sequence[Level] = ()
        if own:
            earlier = [level for level in io.loads_before if level.state == "measured"]
        elif io.results_path is not None:
            earlier = await asyncio.to_thread(known_loads, io.results_path, io.plan.target.name, self.against)
        before = [level for level in earlier if kind_of(level) == kind]
        if not before:
            return self._unsure(f"no earlier measurement of {kind} ({self.against}) to compare with")
        try:
            found = judge(
                [times(level, self.metric, self.band) for level in before],
                [times(level, self.metric, self.band) for level in now if kind_of(level) == kind],
                better=LOWER,
                tolerance=self.tolerance,
            )
        except ValueError as error:
            return self._unsure(str(error))
        io.emit(
            FindingMade(
                target=io.plan.target.name,
                name=f"gate_{self.metric}",
                value=found.verdict,
                method="median_and_p95",
                n=found.median.worse.n,
                source="" if self.band == "all" else self.band,
                figures={
                    "median_worse_percent": round(100 * found.median.worse.value, 3),
                    "p95_worse_percent": round(100 * found.tail.worse.value, 3),
                },
                flags=tuple(dict.fromkeys((*found.median.worse.flags, *found.tail.worse.flags))),
            )
        )
        if found.verdict == "fail":
            return StepResult("failed", f"{self.metric} is worse than before: {found.why}")
        return self._unsure(found.why) if found.verdict == "inconclusive" else StepResult("ok", found.why)

    def _unsure(self, why: str) -> StepResult:
        if self.inconclusive == "fail":
            return StepResult("failed", f"cannot be judged: {why}")
        return StepResult("ok", f"inconclusive, passed as the runbook says: {why}")


def kind_of(level: Level) -> str:
    """What makes two levels comparable: streams at once, or requests that arrive by themselves."""
    return f"{level.per_s:.4g} a second" if level.per_s else f"{level.streams} streams"


def times(level: Level, metric: Metric, band: str = "all") -> list[float]:
    good = in_band([found for one in level.requests if (found := served(one)) is not None], band)
    if metric == "itl":
        return [one.gap_s for one in good if one.gap_s is not None]
    return [max(1e-6, one.ttft_s if metric == "ttft" else one.e2e_s) for one in good]
