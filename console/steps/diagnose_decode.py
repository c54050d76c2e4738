"""`diagnose.decode`: why is a request slow? Out of the log, the record and the host; no load is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field, field_validator

from console.analysis.diagnosis.changed import Compared, compare
from console.analysis.diagnosis.complaint import Baseline, Complaint, stated
from console.analysis.diagnosis.diagnosis import Evidence, diagnose
from console.analysis.diagnosis.passive import passive_of
from console.analysis.diagnosis.recorded import Cell
from console.analysis.diagnosis.window import Window
from console.analysis.statistics.distributions import t_quantile
from console.facts.speed import look_at_speed, watch_counters
from console.results.queries.speed import KnownSpeed, known_speed
from console.schema.facts import PRIVATE
from console.schema.hosts import Target
from console.schema.names import Seconds
from console.schema.plan import OnAbort
from console.steps.base import Step, StepIO, StepResult
from console.steps.diagnosis_events import beside_others, events, replica_of

READ_PATIENCE_S = 30.0


class DiagnoseDecode(Step):
    """Decode rate taken apart: acceptance, context, batch, prefill and what is left.

    Figures are words, because their last digit says how exact they are. `baseline` is what was expected, `R` or
    `R@CONTEXT`, several divided by blanks. What is left out is filled from the log and said to be assumed.
    """

    uses: ClassVar[str] = "diagnose.decode"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "why is it slow? From the log, the record and the host; nothing is sent"

    observed: str = Field(default="", description="tok/s of one request, as seen")
    prompt: int = Field(default=0, ge=0, description="prompt tokens of that request")
    tokens: int = Field(default=0, ge=0, description="tokens it generated")
    accept: str = Field(default="", description="tokens a step committed")
    baseline: str = Field(default="", description="tok/s that were expected, R or R@CONTEXT")
    ttft: str = Field(default="", description="seconds to the first token")
    since: Seconds = Field(default=3600.0, gt=0, description="how far back the log is read")

    @field_validator("observed", "accept", "ttft")
    @classmethod
    def _figure(cls, value: str) -> str:
        if value:
            stated(value)
        return value

    @field_validator("baseline")
    @classmethod
    def _baselines(cls, value: str) -> str:
        list(baselines_of(value))
        return value

    def title(self, target: Target) -> str:
        return f"why is {target.name} slow? Nothing is sent to it"

    def complaint(self) -> Complaint:
        return Complaint(
            observed=stated(self.observed) if self.observed else None,
            prompt_tokens=float(self.prompt) if self.prompt else None,
            output_tokens=float(self.tokens) if self.tokens else None,
            accept_length=stated(self.accept) if self.accept else None,
            baselines=tuple(baselines_of(self.baseline)),
            ttft_s=stated(self.ttft) if self.ttft else None,
        )

    async def run(self, io: StepIO) -> StepResult:
        target = io.reader.target
        seen = await look_at_speed(io.reader, io.engine, io.before, self.since, patience_s=READ_PATIENCE_S)
        known = KnownSpeed(reason="no results repository")
        if io.results_path is not None:
            known = await asyncio.to_thread(known_speed, io.results_path, target.name)
        passive = passive_of(target.service.engine, seen.lines, _argv(io), _pool_tokens(io))
        windows = passive.seen
        if not windows.windows and io.before.serving is not None:
            # A log that tells no batches: the counters do, while requests run.
            counted = await watch_counters(io.reader, io.engine, _pool_tokens(io))
            windows = replace(windows, windows=counted, notes=(*windows.notes, *_counted(counted)))
        evidence = Evidence(
            complaint=self.complaint(),
            passive=windows,
            recorded=known.recorded,
            measured=tuple(_measured(io)),
            hardware=seen.hardware,
            compared=_compared(io, known),
            ceiling=passive.ceiling,
            positions=passive.positions,
        )
        found = await asyncio.to_thread(diagnose, evidence, t_quantile)
        notes = [*seen.notes, *([known.reason] if known.reason else [])]
        for event in events(target.name, found, notes):
            io.emit(event)
        if io.together is not None:
            others = await io.together.others(target.name, replica_of(found, io.before))
            for event in beside_others(target.name, others):
                io.emit(event)
        return StepResult("ok", found.reconciled.sentence)


def _measured(io: StepIO) -> Iterator[Cell]:
    """The cells of a sweep that this run made before."""
    for one in io.cells:
        if one.step == "sweep" and one.rate_tok_s and one.accept_length and one.context_tokens is not None:
            at = one.at_tokens if one.at_tokens is not None else float(one.context_tokens)
            rate, accept, positions = one.rate_tok_s, one.accept_length, one.draft_positions
            yield Cell(one.context_tokens, at, rate, accept, one.text_class, positions)


def _argv(io: StepIO) -> Sequence[str]:
    """What runs; where the process cannot be seen, what systemd loaded."""
    return io.before.process.argv or [word for command in io.before.unit.exec_start for word in command.split()]


def _counted(windows: Sequence[Window]) -> tuple[str, ...]:
    told = f"the log tells no batches: {len(windows)} windows between looks at the counters instead"
    return (told,) if windows else ()


def _pool_tokens(io: StepIO) -> int | None:
    return io.before.serving.pool_tokens if io.before.serving else None


def baselines_of(text: str) -> Iterator[Baseline]:
    """`138 113@3072`. Raises ValueError."""
    for word in text.split():
        rate, at, context = word.partition("@")
        yield Baseline(stated(rate), stated(context).value if at else None)


def _compared(io: StepIO, known: KnownSpeed) -> Compared | None:
    if not known.facts:
        return None
    now = io.before.model_dump(mode="json", exclude=PRIVATE)
    masked: dict[str, Any] = io.reader.redactor.tree(now)
    return compare(known.facts, masked, known.since)
