"""What the measuring steps have in common: the bench they work on, and how they end."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from console.engines.measuring import measuring_of
from console.errors import RefusedError
from console.facts.collect import collect
from console.measure.bench import Bench
from console.measure.limits import Limits
from console.schema.cells import Cell
from console.schema.events import CellMeasured, FindingMade, StepProgress
from console.schema.facts import Facts
from console.schema.serving import Serving
from console.steps.base import Step, StepIO, StepResult

PROMPT_FILE_BYTES = 4 * 1024 * 1024


class Measurement(Step):
    """A step that measures. What cannot be measured is a refusal with its reason: the run it belongs to goes on."""

    async def run(self, io: StepIO) -> StepResult:
        try:
            return await self.measure(io)
        except RefusedError as refusal:
            io.emit(FindingMade(target=io.plan.target.name, name="not_measured", value=refusal.message))
            return StepResult("refused", str(refusal))

    async def measure(self, io: StepIO) -> StepResult:
        """Measure and say so. Raises RefusedError, and what ends the run: NotMeasuredError, ConnectError."""
        raise NotImplementedError(self.uses)


async def bench_of(io: StepIO, *, on_live: bool) -> Bench:
    """Look at the target as it is now. Raises RefusedError for what cannot be measured, ConnectError."""
    measuring = measuring_of(io.engine.name)
    facts = await collect(io.reader, io.engine, patience_s=60.0)
    serving = facts.serving
    if serving is None:
        raise RefusedError(
            f"nothing to measure: {facts.serving_reason or 'the engine does not answer'}",
            where=facts.target,
            hint=f"console facts {facts.target}",
        )
    bench = Bench(
        reader=io.reader,
        engine=io.engine,
        measuring=measuring,
        clock=io.clock,
        limits=limits_of(io, facts, serving, on_live=on_live),
        request_id=f"{io.request_id}-{io.step.index:02d}",
        say=lambda **said: io.emit(StepProgress(target=facts.target, step=io.step.id, **said)),
        later=io.later,
        nonce=io.request_id[-12:],
        model=serving.model or "",
        log=facts.log.path,
    )
    await bench.watch()
    bench.clocks_take_s = 0.0
    await bench.clocks()  # whether the host tells them, and how long that takes
    return bench


def limits_of(io: StepIO, facts: Facts, serving: Serving, *, on_live: bool) -> Limits:
    old = io.old_limit_tokens if io.old_limit_tokens is not None else io.plan.old_limit_tokens
    live = facts.foreign_requests_60s is None or facts.foreign_requests_60s > 0
    return Limits.of(io.engine, serving, old=old, live=live, on_live=on_live)


def tell(io: StepIO, cell: Cell) -> None:
    """Put a cell into the log, with every request it is made of."""
    io.emit(CellMeasured(target=io.plan.target.name, step=io.step.id, cell=cell))


def ended(cells: list[Cell], what: str) -> StepResult:
    """Refused when not one cell has a figure; then its reason is the step's."""
    good = [cell for cell in cells if cell.rate_tok_s is not None]
    bad = [cell for cell in cells if cell.rate_tok_s is None]
    if not good:
        reasons = dict.fromkeys(cell.reason for cell in bad if cell.reason)
        return StepResult("refused", "; ".join(reasons) or "nothing was measured")
    refused = f"; refused: {', '.join(f'{cell.name} ({cell.reason})' for cell in bad)}" if bad else ""
    return StepResult("ok", f"{what}{refused}")


def chance_of(io: StepIO) -> random.Random:
    """Orders are drawn from the run's id: another run has another order, and this one can be told again."""
    return random.Random(io.request_id)  # noqa: S311 - an order, no secret


def own_text(path: str) -> str:
    """The text of --prompt-file. Raises RefusedError."""
    try:
        data = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise RefusedError(f"cannot read the prompt file: {error.strerror or error}", where=path) from None
    if not data.strip() or len(data) > PROMPT_FILE_BYTES:
        raise RefusedError("the prompt file is empty or larger than 4 MiB", where=path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RefusedError(f"the prompt file is not UTF-8 at byte {error.start}", where=path) from None


def gpus_of(settings: Mapping[str, str]) -> int:
    """GPUs of one instance, as its settings say."""
    count = 1
    for name in ("tensor_parallel", "data_parallel", "pipeline_parallel"):
        count *= int(settings[name]) if settings.get(name, "").isdigit() else 1
    return max(1, count)


def replicas_of(settings: Mapping[str, str]) -> int:
    """Data-parallel replicas of one server, as its settings say."""
    return int(settings["data_parallel"]) if settings.get("data_parallel", "").isdigit() else 1


def refused(text: str) -> RefusedError:
    return RefusedError(text, hint="docs/measure.md says what may be written")


def words(value: Any) -> Any:
    """A list, or one text with commas, as a tuple of words."""
    if isinstance(value, int):
        return (str(value),)
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    if isinstance(value, (list, tuple)):
        return tuple(str(word) for word in value)
    return value
