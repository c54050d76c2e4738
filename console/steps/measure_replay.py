"""`measure.replay`: a frozen trace sent as it came: latencies by band, throughput, and how late we sent."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, ClassVar, Literal

from pydantic import Field

from console.analysis.statistics.quantiles import quantile
from console.analysis.workload.bands import Band, Goal, Served, bands
from console.analysis.workload.frozen import TraceHead
from console.analysis.workload.schedule import Schedule, schedule
from console.measure.bench import Bench
from console.measure.findings import of_level, of_spread
from console.measure.latencies import served
from console.measure.load import Wish
from console.measure.prompt import Source
from console.measure.replay import Replay, alphabet
from console.measure.replica_looks import with_log
from console.results import traces
from console.schema.events import FindingMade, LevelMeasured
from console.schema.hosts import Target
from console.schema.loads import Level
from console.schema.plan import OnAbort
from console.steps import measuring
from console.steps.base import StepIO, StepResult

CORPUS_TOKENS = 4096


class MeasureReplay(measuring.Measurement):
    """Open loop: each request at its moment by the trace, `speed` times as fast, for `minutes` at most (0: all of it).

    Prompts are made up: of the trace's lengths, sharing beginnings as the trace's did. `longer` says what is done with
    requests that the target cannot hold. `dask`: the workers of a cluster send it, each whole sessions. `ttft` and
    `gap_ms` are what a request must keep to count as good.
    """

    uses: ClassVar[str] = "measure.replay"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "replay a frozen trace"

    trace: str = Field(min_length=1, description="name in the results repository, or a folder")
    speed: float = Field(default=1.0, gt=0, le=1000)
    minutes: float = Field(default=0.0, ge=0, le=10_000)
    dask: str = Field(default="", description="send from the workers of this Dask cluster: tcp://HOST:8786")
    longer: Literal["skip", "cut"] = "skip"
    ttft: float = Field(default=0.0, ge=0, description="seconds to the first token that a good request keeps; 0: any")
    gap_ms: float = Field(
        default=0.0, ge=0, description="milliseconds between tokens that a good request keeps; 0: any"
    )

    def title(self, target: Target) -> str:
        return f"replay {self.trace}" + (f" at {self.speed:g} times its speed" if self.speed != 1 else "")

    async def measure(self, io: StepIO) -> StepResult:
        head, requests = await asyncio.to_thread(traces.load, traces.find(io.results_path, self.trace))
        bench = await measuring.bench_of(io, on_live=False)
        if bench.limits.live:
            raise measuring.refused("a replay is never sent to a live target: take it out of the balancer first")
        plan = schedule(
            requests,
            head.block_tokens,
            speed=self.speed,
            minutes=self.minutes or None,
            most_tokens=most_tokens(bench.limits.most(1)),
            policy=self.longer,
        )
        if not plan.requests:
            raise measuring.refused(plan.sentence() or f"{head.name} has no request in that time")
        base = (await Source(bench).prompt("prose", CORPUS_TOKENS)).sent
        if isinstance(base, str):
            raise measuring.refused("the engine has no /tokenize: prompts of one size cannot be made")
        gpus = measuring.gpus_of(bench.limits.settings)
        per_s = len(plan.requests) / max(1.0, plan.requests[-1].at_s)
        wish = Wish(1, len(plan.requests), 1, per_s, gpus)
        told_all: dict[str, Any] = {
            "planned": plan.requests,
            "base": alphabet(base),
            "block_tokens": head.block_tokens,
        }
        replay: Replay
        with contextlib.ExitStack() as stack:
            if self.dask:
                from console.measure.dask_replay import SpreadReplay
                from console.measure.dask_workers import Senders, client_of

                senders = Senders(await asyncio.to_thread(stack.enter_context, client_of(self.dask)), self.dask)
                await asyncio.to_thread(senders.check_clocks)
                replay = SpreadReplay(bench, wish, lambda: (), measuring.chance_of(io), cluster=senders, **told_all)
            else:
                replay = Replay(bench, wish, lambda: (), measuring.chance_of(io), **told_all)
            return await self._sent(io, bench, replay, head, plan)

    async def _sent(self, io: StepIO, bench: Bench, replay: Replay, head: TraceHead, plan: Schedule) -> StepResult:
        try:
            level = await replay.measure()
            seen = await bench.watch()
            bench.watched.append(seen)
            replicas = measuring.replicas_of(bench.limits.settings)
            level = with_log(level, io.engine.name, seen.lines, replicas)
        except BaseException:
            self._keep(io, replay.level("partial", "stopped or cut off"))
            raise
        self._keep(io, level)
        io.emit(of_lag(io.plan.target.name, head, plan, level))
        if level.state != "measured":
            return StepResult("refused", level.reason)
        io.emit(of_spread(io.plan.target.name, level, replicas))
        found = served_of(replay)
        goal = Goal(self.ttft or None, self.gap_ms / 1000 or None)
        for band in bands(found, goal):
            io.emit(of_band(io.plan.target.name, band, level))
        refused = sum(bool(one.refused) for one in level.requests)
        told = [f"{len(found):,} of {len(plan.requests):,} requests", f"schedule {plan.sha256[:12]}"]
        told += [text for text in (f"{refused:,} refused" if refused else "", plan.sentence()) if text]
        return StepResult("ok", "; ".join(told))

    def _keep(self, io: StepIO, level: Level) -> None:
        io.emit(LevelMeasured(target=io.plan.target.name, step=io.step.id, level=level))
        io.emit(of_level(io.plan.target.name, level, "replay"))


def of_lag(target: str, head: TraceHead, plan: Schedule, level: Level) -> FindingMade:
    """How late requests were sent, with what says which requests: a replay that sends late measures itself."""
    lag = quantile([max(0.0, one.sent_s - one.scheduled_s) for one in level.requests] or [0.0], 0.99)
    return FindingMade(
        target=target,
        name="replay_lag",
        value=round(lag.value * 1000, 3),
        unit="ms",
        method="p99",
        n=len(level.requests),
        source=f"{head.name} sha256:{head.sha256[:12]} schedule:{plan.sha256[:12]}",
        flags=(*lag.flags, *([plan.sentence()] if plan.longer else [])),
    )


def most_tokens(largest_prompt: int | None) -> int | None:
    """Prompt and answer together: a prompt's limit is told for an answer of one token."""
    return None if largest_prompt is None else largest_prompt + 1


def served_of(replay: Replay) -> list[Served]:
    """What was answered whole, with what the schedule knows of it."""
    return [
        one
        for index, sent in sorted(replay.done.items())
        if (one := served(sent, replay.planned[index].known)) is not None
    ]


def of_band(target: str, band: Band, level: Level) -> FindingMade:
    """One band as a finding: p95 end to end, with the rest as figures."""
    figures: dict[str, float] = {
        "ttft_p50_s": band.ttft_p50.value,
        "ttft_p95_s": band.ttft_p95.value,
        "good_percent": 100 * band.good,
    }
    if band.gap_p50 is not None and band.gap_p95 is not None:
        figures |= {"itl_p50_ms": 1000 * band.gap_p50.value, "itl_p95_ms": 1000 * band.gap_p95.value}
    if band.hit is not None:
        figures["cache_hit_percent"] = 100 * band.hit
    if band.dimension == "all" and level.tok_min_gpu is not None:
        figures["tok_min_gpu"] = level.tok_min_gpu
    told: dict[str, Any] = {
        "target": target,
        "name": "replay_band",
        "value": round(band.e2e_p95.value, 4),
        "unit": "s",
        "low": finite(band.e2e_p95.low),
        "high": finite(band.e2e_p95.high),
        "interval": "confidence",
        "confidence": band.e2e_p95.confidence,
        "n": band.n,
        "method": "e2e_p95",
        "source": band.dimension if band.dimension == "all" else f"{band.dimension}:{band.label}",
        "figures": {name: round(value, 4) for name, value in figures.items()},
        "flags": band.e2e_p95.flags,
    }
    return FindingMade.model_validate(told)


def finite(value: float) -> float | None:
    return round(value, 4) if abs(value) < float("inf") else None
