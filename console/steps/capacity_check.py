"""`capacity.check`: will the command line that this plan leads to serve its window?"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from console.analysis.capacity.report import reported as report
from console.schema.capacity import CapacityReport, Judgement
from console.schema.cells import Cell
from console.schema.events import CapacityJudged, ConclusionMade, Event, FindingMade
from console.schema.hosts import Target
from console.schema.plan import OnAbort, Plan
from console.steps.base import Step, StepIO, StepResult

# Every engine's way to write a window; what one of them does not take is told by the report.
_WINDOW = re.compile(r"-?\d[\d_]{0,14}(\.\d{1,9})?[kKmMgGtT]?|auto")


class CapacityCheck(Step):
    """Refuse, before anything is touched, a window that model, draft, release or GPU memory do not allow.

    It judges the whole plan, wherever it stands in it. `require = "start"` accepts a window that the pool cannot hold
    in one request. What cannot be judged stops nothing: plan and record say what is missing, the proof decides.
    In a plan that changes no setting it reports what would fit: `context` and `settings` (`NAME=VALUE`) if given,
    else how far each change would lead.
    """

    uses: ClassVar[str] = "capacity.check"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "will it fit?"

    require: Literal["serve", "start"] = "serve"
    context: str = Field(default="", description="a window to report on, as the engine would be told it")
    settings: tuple[str, ...] = Field(default=(), description="NAME=VALUE: report with these settings")

    @field_validator("context")
    @classmethod
    def _window(cls, value: str) -> str:
        if value and not _WINDOW.fullmatch(value):
            raise ValueError(f"{value!r} is no number of tokens: write it as 200000, or as the engine takes it, 200k")
        return value

    @field_validator("settings")
    @classmethod
    def _pairs(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for word in value:
            name, equals, _ = word.partition("=")
            if not name or not equals:
                raise ValueError(f"{word!r}: write it as NAME=VALUE")
        return value

    def title(self, target: Target) -> str:
        return "will it fit: model, draft, KV pool, GPU memory"

    async def run(self, io: StepIO) -> StepResult:
        plan = io.plan
        if plan.capacity is not None:
            for finding in findings(plan.capacity, plan.target.name):
                io.emit(finding)
            return said_of(plan.capacity)
        if plan.settings or plan.unchanged:
            return StepResult("skipped", "the window does not change")
        return await self._report(io)

    async def _report(self, io: StepIO) -> StepResult:
        asked = {"context_length": self.context} if self.context else {}
        asked |= {name: value for name, _, value in (word.partition("=") for word in self.settings)}
        law = None
        if io.results_path is not None:
            from console.results.queries.decode_law import decode_law

            law = await asyncio.to_thread(decode_law, io.results_path, io.plan.target.name)
        told = report(io.before, io.engine, asked, law=law)
        for event in (*of_report(told), CapacityJudged(target=told.target, report=told)):
            io.emit(event)
        if told.judgement is not None:
            return said_of(told.judgement)
        return StepResult("ok", f"{len(told.rungs)} ways looked at")


def against_law(plan: Plan, cells: Sequence[Cell]) -> list[FindingMade]:
    """How far the deepest step time that was measured after the change is from what the plan reckoned with."""
    law = plan.capacity.law if plan.capacity else None
    measured = [(cell.at_tokens, cell.step_ms) for cell in cells if cell.at_tokens and cell.step_ms]
    if law is None or not measured:
        return []
    at_tokens, step_ms = max(measured)
    predicted = law.intercept_ms + law.slope_ms * at_tokens
    return [
        FindingMade(
            target=plan.target.name,
            name="step_time_error",
            value=round((step_ms / predicted - 1) * 100, 2),
            unit="%",
            context_tokens=round(at_tokens),
            method="measured / predicted - 1",
            source=law.source,
            figures={"predicted_ms": round(predicted, 1), "measured_ms": round(step_ms, 1)},
        )
    ]


def said_of(judgement: Judgement) -> StepResult:
    """What was not judged is never shown as ok."""
    if judgement.verdict == "unknown":
        return StepResult("skipped", f"not judged: {judgement.sentence}; the proof decides")
    return StepResult("ok", f"{judgement.verdict}: {judgement.sentence}")


def of_report(told: CapacityReport) -> Iterator[Event]:
    """The headline first: it is the subject of the commit. A lever is a change that leads further, and how far."""
    judgement = told.judgement
    if judgement is not None:
        window = f"{judgement.window_tokens}: " if judgement.window_tokens else ""
        yield FindingMade(target=told.target, name="window", value=f"{window}{judgement.verdict}", method="arithmetic")
        yield from findings(judgement, told.target)
    if told.pool_tokens is not None:
        yield FindingMade(target=told.target, name="pool_tokens", value=told.pool_tokens, source="engine")
    for name, tokens in (("model_limit", told.model_limit_tokens), ("draft_limit", told.draft_limit_tokens)):
        if tokens is not None:
            yield FindingMade(target=told.target, name=name, value=tokens, unit="tokens", source="config.json")
    for rung in told.rungs:
        now = told.pool_tokens if told.served_tokens else None
        if rung.window_tokens and now and rung.window_tokens > now and not rung.note:
            kind = "lossy" if rung.lossy else "lossless"
            text = f"{rung.sets}: serves {rung.window_tokens} tokens ({kind})"
            yield ConclusionMade(target=told.target, kind="lever", text=text, gain=round(rung.window_tokens / now, 2))
    for text in told.missing:
        yield ConclusionMade(target=told.target, kind="missing", text=text)


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
