"""`gate.performance`: is it no slower than before? Median and p95, against an earlier run of the same target."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from console.analysis.statistics.gate import Better, judge
from console.measure.latencies import between_tokens_s
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

    `against`: a run's id, or `newest`: the newest record of this target that has such a measurement. A better median
    with a worse p95 is no pass. `tolerance` is the share that may be lost. `inconclusive`: what becomes of an answer so
    wide that it would hide a loss of a tenth, and of nothing to compare with.
    """

    uses: ClassVar[str] = "gate.performance"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "is it no slower than before?"

    metric: Metric = "e2e"
    against: str = "newest"
    tolerance: float = Field(default=0.03, ge=0, le=1)
    inconclusive: Literal["fail", "pass"] = "pass"

    def title(self, target: Target) -> str:
        return f"is {self.metric} no worse than before, median and p95?"

    async def run(self, io: StepIO) -> StepResult:
        now = [level for level in io.loads if level.state == "measured"]
        if not now:
            return self._unsure("nothing was measured in this run that could be compared")
        kind = kind_of(now[-1])
        earlier: Sequence[Level] = ()
        if io.results_path is not None:
            earlier = await asyncio.to_thread(known_loads, io.results_path, io.plan.target.name, self.against)
        before = [level for level in earlier if kind_of(level) == kind]
        if not before:
            return self._unsure(f"no earlier measurement of {kind} ({self.against}) to compare with")
        try:
            found = judge(
                [times(level, self.metric) for level in before],
                [times(level, self.metric) for level in now if kind_of(level) == kind],
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


def times(level: Level, metric: Metric) -> list[float]:
    good = [one for one in level.requests if not one.refused and one.first_s is not None and one.ended_s is not None]
    if metric == "itl":
        return [gap for one in good if (gap := between_tokens_s(one)) is not None]
    ends = [(one.first_s if metric == "ttft" else one.ended_s, one.scheduled_s) for one in good]
    return [max(1e-6, end - begin) for end, begin in ends if end is not None]
