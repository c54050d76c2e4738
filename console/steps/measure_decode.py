"""`measure.decode`: how fast it decodes, by class of text and context."""

from __future__ import annotations

import asyncio
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, field_validator

from console.measure import workload
from console.measure.decode import DecodeCell, Shape
from console.measure.findings import of_cell, of_workload
from console.measure.limits import Limits, UnknownContextError, check_contexts, contexts_of
from console.measure.prompt import Source
from console.measure.prompts import TEXT_CLASSES
from console.schema.cells import Cell
from console.schema.hosts import Target
from console.schema.plan import OnAbort
from console.steps import measuring
from console.steps.base import StepIO, StepResult

Words = Annotated[tuple[str, ...], BeforeValidator(measuring.words)]
OWN = "own"


class MeasureDecode(measuring.Measurement):
    """Two-point decode rate with step time and accept_length, a cell for each class of text at each context.

    `contexts` (none: the usual length of each class): tokens, `8k`, `50%` of the largest request, `old-limit`, `max`.
    `samples`: pairs a cell at most; fewer where the interval is within `target` before. `output_tokens` 0: as needed.
    `cold`: every request computes its whole prompt. `prompts`: also accept_length over so many prompts of each class.
    """

    uses: ClassVar[str] = "measure.decode"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "measure the decode rate"

    contexts: Words = ()
    text_classes: Words = ("short", "prose", "code", "analysis", "repetitive")
    prompt_file: str = ""
    output_tokens: int = Field(default=0, ge=0, le=100_000)
    samples: int = Field(default=12, ge=1, le=50)
    target: float = Field(default=0.01, gt=0, lt=1)
    cold: bool = False
    prompts: int = Field(default=0, ge=0, le=1000)
    on_live: bool = False

    @field_validator("contexts")
    @classmethod
    def _are_contexts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        try:
            check_contexts(value)
        except UnknownContextError as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("text_classes")
    @classmethod
    def _are_classes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return known_classes(value)

    @field_validator("output_tokens")
    @classmethod
    def _long_enough(cls, value: int) -> int:
        if 0 < value < 96:
            raise ValueError("a long answer has at least 96 tokens")
        return value

    def title(self, target: Target) -> str:
        return "measure the decode rate"

    async def measure(self, io: StepIO) -> StepResult:
        bench = await measuring.bench_of(io, on_live=self.on_live)
        source = Source(bench, measuring.own_text(self.prompt_file) if self.prompt_file else "")
        chance = measuring.chance_of(io)
        shape = Shape(self.output_tokens, self.samples, self.target, self.cold)
        wanted = self._cells(bench.limits)
        done: list[Cell] = []
        started = io.clock.monotonic()
        for index, (text_class, tokens) in enumerate(wanted):
            each_s = (io.clock.monotonic() - started) / index if index else None
            name = f"{text_class} at {tokens} tokens" if tokens else text_class
            bench.say(
                phase=name,
                done=index,
                total=len(wanted),
                eta_s=None if each_s is None else each_s * (len(wanted) - index),
            )
            too_much = bench.limits.too_much((tokens or 1024) + shape.output_tokens)
            cell = DecodeCell(bench, await source.prompt(text_class, tokens, nonce=bench.nonce), shape, name, chance)
            if too_much:
                self._keep(io, done, cell.cell("refused", too_much))
                continue
            try:
                measured = await cell.measure()
                bench.watched.append(await bench.watch())
            except BaseException as error:
                # What was measured before a stop or a death of the engine is kept, and marked.
                word = "stopped" if isinstance(error, asyncio.CancelledError) else str(getattr(error, "message", error))
                self._keep(io, done, cell.cell("partial", word))
                raise
            self._keep(io, done, measured)
        if self.prompts and not self.prompt_file:
            for text_class in self.text_classes:
                io.emit(
                    of_workload(io.plan.target.name, await workload.measure(bench, source, text_class, self.prompts))
                )
        return measuring.ended(done, f"{len(done)} cells")

    def _cells(self, limits: Limits) -> list[tuple[str, int | None]]:
        """Class and prompt tokens of each cell; what is short has its own length, and one cell."""
        classes = (OWN,) if self.prompt_file else self.text_classes
        try:
            contexts: list[int | None] = [*contexts_of(self.contexts, limits, self.output_tokens or 600)]
        except UnknownContextError as error:
            raise measuring.refused(str(error)) from None
        found: list[tuple[str, int | None]] = []
        for text_class in classes:
            for tokens in contexts or [None]:
                cell = (text_class, None if text_class == "short" else tokens)
                if cell not in found:
                    found.append(cell)
        return found

    def _keep(self, io: StepIO, done: list[Cell], cell: Cell) -> None:
        done.append(cell)
        measuring.tell(io, cell)
        for finding in of_cell(io.plan.target.name, cell):
            io.emit(finding)


def known_classes(value: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [word for word in value if word not in TEXT_CLASSES]
    if unknown or not value:
        raise ValueError(f"{', '.join(unknown) or 'nothing'}: classes of text are {', '.join(TEXT_CLASSES)}")
    return value
