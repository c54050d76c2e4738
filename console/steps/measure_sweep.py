"""`measure.sweep`: step time over context, and what it predicts where nobody measured."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from pydantic import Field, field_validator

from console.measure.findings import of_cell, of_fit, of_prediction
from console.measure.limits import Limits, UnknownContextError, check_contexts, contexts_of
from console.measure.prompt import Source
from console.measure.sweep import Layout, Sweep, line_of
from console.schema.cells import Cell
from console.schema.events import FindingMade
from console.schema.hosts import Target
from console.schema.names import Seconds
from console.schema.plan import OnAbort
from console.steps import measuring
from console.steps.base import StepIO, StepResult
from console.steps.capacity_check import against_law
from console.steps.measure_decode import OWN, Words, known_classes


class MeasureSweep(measuring.Measurement):
    """Step time over context: a cell is one pair of answers, each context is measured `rounds` times.

    `contexts`: tokens, `8k`, `50%` of the largest request, `old-limit`, `max`. `budget`: time after which no further
    cell begins, and what a cell may not exceed; what is left out is said.
    """

    uses: ClassVar[str] = "measure.sweep"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "measure step time over context"

    contexts: Words = ("1k", "4k", "16k", "old-limit", "50%", "90%")
    text_class: str = "prose"
    prompt_file: str = ""
    output_tokens: int = Field(default=256, ge=96, le=100_000)
    rounds: int = Field(default=2, ge=1, le=3)
    budget: Seconds = 900.0
    on_live: bool = False

    @field_validator("contexts")
    @classmethod
    def _are_contexts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        try:
            check_contexts(value)
        except UnknownContextError as error:
            raise ValueError(str(error)) from None
        if not value:
            raise ValueError("a sweep needs contexts")
        return value

    @field_validator("text_class")
    @classmethod
    def _is_class(cls, value: str) -> str:
        if value == "short":
            raise ValueError("a short text has one length only: sweep repetitive, prose, code or analysis")
        return known_classes((value,))[0]

    def title(self, target: Target) -> str:
        return "measure step time over context"

    async def measure(self, io: StepIO) -> StepResult:
        bench = await measuring.bench_of(io, on_live=self.on_live)
        source = Source(bench, measuring.own_text(self.prompt_file) if self.prompt_file else "")
        layout = Layout(
            self._contexts(bench.limits),
            OWN if self.prompt_file else self.text_class,
            self.output_tokens,
            self.rounds,
            self.budget,
        )
        sweep = Sweep(bench, source, layout, measuring.chance_of(io), keep=lambda cell: measuring.tell(io, cell))
        try:
            await sweep.run()
        except BaseException as error:
            self._conclude(io, sweep, "stopped" if isinstance(error, asyncio.CancelledError) else "ended early")
            raise
        said = self._conclude(io, sweep, "")
        return measuring.ended(sweep.cells, said)

    def _contexts(self, limits: Limits) -> list[int]:
        try:
            return contexts_of(self.contexts, limits, self.output_tokens)
        except UnknownContextError as error:
            raise measuring.refused(str(error)) from None

    def _conclude(self, io: StepIO, sweep: Sweep, cut_off: str) -> str:
        """The findings of what there is; returns what to say of them."""
        target = io.plan.target.name
        for cell in without_repeats([cell for cell in sweep.cells if cell.rate_tok_s is None]):
            for finding in of_cell(target, cell):
                io.emit(finding)
        for finding in against_law(io.plan, sweep.cells):
            io.emit(finding)
        line = line_of(sweep.cells, sweep.remeasured)
        partial = ("partial",) if cut_off else ()
        if line is None:
            if any(cell.rate_tok_s is not None for cell in sweep.cells):
                reason = "fewer than three cells at two contexts: no line"
                io.emit(FindingMade(target=target, name="not_measured", value=reason, flags=partial))
            return f"{len(sweep.cells)} cells, no line"
        io.emit(of_fit(target, line.fit, marks=(*partial, *line.marks)))
        most = sweep.bench.limits.most(self.output_tokens)
        if most is not None and most > line.fit.highest_tokens:
            io.emit(of_prediction(target, line.fit, most))
        a, b = line.fit.intercept_ms.value, line.fit.slope_ms_per_token.value
        marks = f"; {'; '.join(line.marks)}" if line.marks else ""
        return f"{len(sweep.cells)} cells: {a:.1f} ms + {b:.4g} ms/token{marks}"


def without_repeats(cells: list[Cell]) -> list[Cell]:
    """One cell for each context and reason."""
    return list({(cell.asked_tokens, cell.reason): cell for cell in cells}.values())
