"""`diagnose.bottleneck`: what limits a target under load? From its recorded loads and its log; nothing is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from statistics import median
from typing import ClassVar

from pydantic import Field

from console.analysis.diagnosis.bottleneck import Seen, bottleneck
from console.analysis.diagnosis.passive import passive_of
from console.analysis.diagnosis.window import Window
from console.facts.speed import look_at_speed
from console.measure.latencies import between_tokens_s
from console.results.queries.loads import known_loads
from console.schema.events import ConclusionMade, FindingMade
from console.schema.hosts import Target
from console.schema.loads import Level
from console.schema.names import Seconds
from console.schema.plan import OnAbort
from console.steps.base import Step, StepIO, StepResult

READ_PATIENCE_S = 30.0


class DiagnoseBottleneck(Step):
    """Judges the loads or replays that this run measured before, else the newest on record of this target."""

    uses: ClassVar[str] = "diagnose.bottleneck"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "what limits it under load? Nothing is sent"

    since: Seconds = Field(default=3600.0, gt=0, description="how far back the log is read")

    def title(self, target: Target) -> str:
        return f"what limits {target.name} under load?"

    async def run(self, io: StepIO) -> StepResult:
        target = io.plan.target.name
        levels: Sequence[Level] = [level for level in io.loads if level.state == "measured"]
        if not levels and io.results_path is not None:
            levels = await asyncio.to_thread(known_loads, io.results_path, target, "newest")
        seen = await look_at_speed(io.reader, io.engine, io.before, self.since, patience_s=READ_PATIENCE_S)
        argv: Sequence[str] = io.before.process.argv or []
        pool = io.before.serving.pool_tokens if io.before.serving else None
        windows = passive_of(io.plan.target.service.engine, seen.lines, argv, pool).seen.windows
        if windows:
            io.emit(of_production(target, windows))
        found = bottleneck([seen_of(level) for level in levels])
        io.emit(
            ConclusionMade(target=target, kind="bottleneck", text=found.sentence(), evidence=f"{len(levels)} levels")
        )
        for sign in found.signs:
            strong = sign.kind == found.kind
            io.emit(
                ConclusionMade(
                    target=target,
                    kind="lever" if strong else "cause",
                    text=f"{sign.kind}: next {sign.layer}" if strong else f"a sign of {sign.kind}: {sign.evidence}",
                    evidence=f"would confirm it: {sign.confirm}",
                )
            )
        return StepResult("ok", found.sentence())


def of_production(target: str, windows: Sequence[Window]) -> FindingMade:
    """What the log shows of the service's own traffic: requests at once, and how each of them decodes."""
    rates = sorted(one.rate_per_request_tok_s for one in windows)
    return FindingMade(
        target=target,
        name="running_requests",
        value=round(sum(one.batch for one in windows) / len(windows), 3),
        n=len(windows),
        method="log",
        source="decode windows of its log",
        figures={
            "decode_tok_s": round(median(rates), 3),
            "decode_p5_tok_s": round(rates[len(rates) // 20], 3),
            "context_tokens": round(median(one.context_tokens for one in windows), 1),
            "accept_length": round(median(one.accept_length for one in windows), 3),
            "queued_most": float(max(one.queue for one in windows)),
        },
    )


def seen_of(level: Level) -> Seen:
    """A level in the figures that a bottleneck is told from."""
    good = [one for one in level.requests if not one.refused and one.first_s is not None and one.ended_s is not None]
    gaps = [gap for one in good if (gap := between_tokens_s(one)) is not None]
    firsts = [one.first_s - one.scheduled_s for one in good if one.first_s is not None]
    ends = [one.ended_s - one.scheduled_s for one in good if one.ended_s is not None]
    told = [one for one in good if one.cached_tokens is not None and one.prompt_tokens]
    given = sum(one.prompt_tokens or 0 for one in told)
    return Seen(
        streams=float(level.running_most or level.streams) if level.per_s else float(level.streams),
        gap_s=median(gaps) if gaps else None,
        ttft_s=median(firsts) if firsts else None,
        e2e_s=median(ends) if ends else None,
        pool=level.pool_usage_most,
        queued=level.queued_most,
        hit=sum(one.cached_tokens or 0 for one in told) / given if given else None,
        lag_ms=level.client_lag_ms,
    )
