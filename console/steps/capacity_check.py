"""`capacity.check`: will the command line that this plan leads to serve its window?"""

from __future__ import annotations

from typing import ClassVar, Literal

from console.schema.capacity import Judgement
from console.schema.events import FindingMade
from console.schema.hosts import Target
from console.schema.plan import OnAbort
from console.steps.base import Step, StepIO, StepResult


class CapacityCheck(Step):
    """Refuse, before anything is touched, a window that model, draft, release or GPU memory do not allow.

    It judges the whole plan, wherever it stands in it. `require = "start"` accepts a window that the pool cannot hold
    in one request. What cannot be judged stops nothing: plan and record say what is missing, the proof decides.
    """

    uses: ClassVar[str] = "capacity.check"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "will it fit?"

    require: Literal["serve", "start"] = "serve"

    def title(self, target: Target) -> str:
        return "will it fit: model, draft, KV pool, GPU memory"

    async def run(self, io: StepIO) -> StepResult:
        judgement = io.plan.capacity
        if judgement is None:
            return StepResult("skipped", "the window does not change")
        for finding in findings(judgement, io.plan.target.name):
            io.emit(finding)
        if judgement.verdict == "unknown":
            return StepResult("skipped", f"not judged: {judgement.sentence}; the proof decides")
        return StepResult("ok", f"{judgement.verdict}: {judgement.sentence}")


def findings(judgement: Judgement, target: str) -> list[FindingMade]:
    """What was predicted, to be compared with what comes."""
    found = []
    if judgement.pool_tokens is not None:
        found.append(
            FindingMade(
                target=target,
                name="predicted_pool_tokens",
                value=judgement.pool_tokens,
                method="from the running pool",
                source="arithmetic",
            )
        )
    if judgement.decode is not None:
        found.append(
            FindingMade(
                target=target,
                name="predicted_step_time",
                value=round(judgement.decode.step_ms, 1),
                unit="ms",
                context_tokens=judgement.decode.context_tokens,
                method=f"extrapolated {judgement.decode.extrapolated:.0f}-fold",
                source=judgement.decode.source,
            )
        )
    return found
