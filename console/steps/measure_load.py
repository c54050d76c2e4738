"""`measure.load`: latencies and throughput of several streams at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import ClassVar

from pydantic import Field, field_validator

from console.measure.findings import of_level
from console.measure.load import LoadLevel, Wish
from console.measure.prompt import Source
from console.schema.events import LevelMeasured
from console.schema.hosts import Target
from console.schema.loads import Level
from console.schema.plan import OnAbort
from console.steps import measuring
from console.steps.base import StepIO, StepResult
from console.steps.measure_decode import Words, known_classes

LEAST_REQUESTS = 8


class MeasureLoad(measuring.Measurement):
    """A level for each number of `concurrency`: TTFT, time between tokens, end to end, tokens a minute and GPU.

    `rate`: requests a second that arrive by themselves instead, one level. Every prompt begins otherwise, so nothing of
    it is in the prefix cache. `requests` 0: four a stream, eight at least.
    """

    uses: ClassVar[str] = "measure.load"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "measure latencies under load"

    concurrency: Words = ("1", "2", "4", "8")
    rate: float = Field(default=0.0, ge=0, le=1000)
    requests: int = Field(default=0, ge=0, le=10_000)
    text_class: str = "prose"
    context: int = Field(default=1024, ge=16, le=1_000_000)
    output_tokens: int = Field(default=256, ge=16, le=100_000)

    @field_validator("concurrency")
    @classmethod
    def _are_counts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value or not all(word.isdigit() and 0 < int(word) <= 512 for word in value):
            raise ValueError("concurrency is a list of numbers from 1 to 512, such as 1,2,4,8")
        return value

    @field_validator("text_class")
    @classmethod
    def _is_class(cls, value: str) -> str:
        return known_classes((value,))[0]

    def title(self, target: Target) -> str:
        return "measure latencies under load"

    async def measure(self, io: StepIO) -> StepResult:
        bench = await measuring.bench_of(io, on_live=False)
        chance = measuring.chance_of(io)
        base = (await Source(bench).prompt(self.text_class, self.context)).sent
        if isinstance(base, str):
            raise measuring.refused("the engine has no /tokenize: prompts of one size cannot be made")
        prompt = beginnings(base, chance)
        gpus = measuring.gpus_of(bench.limits.settings)
        done: list[Level] = []
        for wish in self._wishes(gpus):
            level = LoadLevel(bench, wish, prompt, chance)
            if bench.limits.live and (wish.streams > 1 or wish.per_s):
                self._keep(io, done, level.level("refused", "never more than one stream on a live target"))
                continue
            try:
                measured = await level.measure()
                bench.watched.append(await bench.watch())
            except BaseException:
                self._keep(io, done, level.level("partial", "stopped or cut off"))
                raise
            self._keep(io, done, measured)
        good = [level for level in done if level.state == "measured"]
        if not good:
            return StepResult("refused", "; ".join(dict.fromkeys(level.reason for level in done)))
        return StepResult("ok", f"{len(good)} of {len(done)} levels")

    def _wishes(self, gpus: int) -> list[Wish]:
        if self.rate:
            return [Wish(1, self.requests or 4 * LEAST_REQUESTS, self.output_tokens, self.rate, gpus)]
        levels = [int(word) for word in self.concurrency]
        return [Wish(n, self.requests or max(LEAST_REQUESTS, 4 * n), self.output_tokens, 0.0, gpus) for n in levels]

    def _keep(self, io: StepIO, done: list[Level], level: Level) -> None:
        done.append(level)
        target = io.plan.target.name
        io.emit(LevelMeasured(target=target, step=io.step.id, level=level))
        io.emit(of_level(target, level, self.text_class))


def beginnings(base: tuple[int, ...], chance: random.Random) -> Callable[[], tuple[int, ...]]:
    """Prompts that all begin otherwise and are otherwise the same."""

    def next_one() -> tuple[int, ...]:
        return (*chance.choices(base, k=min(8, len(base))), *base[8:])

    return next_one
