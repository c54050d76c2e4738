"""`diagnose.bottleneck`: what limits a target under load? From its recorded loads and its log; nothing is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from statistics import median
from typing import ClassVar

from pydantic import Field

from console.analysis.capacity.room import Room, room
from console.analysis.diagnosis.bottleneck import Seen, bottleneck
from console.analysis.diagnosis.own_load import Users, of_users
from console.analysis.diagnosis.passive import passive_of
from console.analysis.diagnosis.placement import Member
from console.analysis.diagnosis.production import Production, production_of
from console.analysis.diagnosis.session_length import Found, falling
from console.analysis.diagnosis.window import Said, Window
from console.facts.speed import SeenSpeed, look_at_speed
from console.measure.latencies import between_tokens_s
from console.measure.replica_looks import of_lines
from console.results.queries.accept import accept_by_class
from console.results.queries.decode_law import decode_law
from console.results.queries.loads import known_loads
from console.results.queries.own_load import own_load
from console.schema.events import ConclusionMade, FindingMade
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.schema.loads import Level, ReplicaLoad
from console.schema.names import Seconds
from console.schema.plan import OnAbort
from console.steps.base import Step, StepIO, StepResult

READ_PATIENCE_S = 30.0
TICKS_A_SECOND = 100  # of /proc/PID/stat, on every Linux


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
        engine = io.plan.target.service.engine
        users = await self._users(io, seen)
        windows = passive_of(engine, users.lines, argv, pool).seen.windows
        production = production_of(engine, users.lines)
        if production is not None:
            age = age_s(io.before)
            fresh = None if age is None or age >= self.since else production_of(engine, of_this_start(users.lines))
            io.emit(with_left_out(of_production(target, production, windows, age, fresh), users, zoned=seen.zoned))
        judged = [seen_of(level) for level in levels]
        hot = replicas_of(levels, of_lines(engine, [one.line for one in users.lines], self.since))
        found = bottleneck(judged, hot, retracted=production.retracted if production else 0)
        await self._around(io, pool)
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

    async def _users(self, io: StepIO, seen: SeenSpeed) -> Users:
        """The log without the time of our own measurements: a sample of production is of users alone."""
        if io.results_path is None or not seen.lines or not seen.zoned:
            return Users(seen.lines)
        ours = await asyncio.to_thread(own_load, io.results_path, io.plan.target.name, seen.lines[0].at_s)
        return of_users(seen.lines, ours, io.before.host.skew_s or 0.0)

    async def _around(self, io: StepIO, pool: int | None) -> None:
        """What belongs to any answer: how many requests the pool holds, what a step commits, what the drafter takes."""
        target, path = io.plan.target.name, io.results_path
        serving = io.before.serving
        if pool and serving is not None and serving.context_length:
            law = None if path is None else await asyncio.to_thread(decode_law, path, target)
            most = serving.settings.get("max_running_requests", "")
            for one in room(pool, serving.context_length, most_running=int(most) if most.isdigit() else 0, law=law):
                io.emit(of_room(target, one))
        accepts = {} if path is None else await asyncio.to_thread(accept_by_class, path, target)
        for text_class, accept in accepts.items():
            io.emit(of_accept(target, text_class, accept))
        if serving is not None and serving.settings.get("speculative_algorithm", "").lower() not in ("", "none"):
            # None of the engines times its drafter: not in the log, not in the metrics, not in an answer.
            io.emit(FindingMade(target=target, name="drafter_share", value="not exposed", source="engine"))


def of_room(target: str, one: Room) -> FindingMade:
    return FindingMade(
        target=target,
        name="room",
        value=one.at_once,
        unit="requests",
        method="pool / context",
        context_tokens=one.context_tokens,
        figures={} if one.step_ms is None else {"step_ms": round(one.step_ms, 2)},
    )


def of_accept(target: str, text_class: str, accept: float) -> FindingMade:
    return FindingMade(
        target=target, name="accept_on_record", value=accept, unit="tokens/step", text_class=text_class, source="record"
    )


def of_production(
    target: str, seen: Production, windows: Sequence[Window], age: float | None = None, fresh: Production | None = None
) -> FindingMade:
    """What the log shows of the service's own traffic: requests at once, and how each of them decodes.

    `age`: seconds that its process runs; `fresh`: the share of this process, where an earlier one is in the log, too.
    """
    figures = {
        "request_s": round(seen.request_s, 1),
        "busy_s": round(seen.busy_s, 1),
        "queued_most": float(seen.queued_most),
        "retracted": float(seen.retracted),
    }
    if age is not None:
        figures["age_s"] = round(age, 1)
    if fresh is not None and fresh.lines < seen.lines:
        figures["new_request_s"] = round(fresh.request_s, 1)
        figures |= {} if fresh.hit is None else {"new_hit_percent": round(100 * fresh.hit, 1)}
    if seen.hit is not None:
        figures["hit_percent"] = round(100 * seen.hit, 1)
    if windows:
        rates = sorted(one.rate_per_request_tok_s for one in windows)
        figures |= {
            "decode_tok_s": round(median(rates), 3),
            "decode_p5_tok_s": round(rates[len(rates) // 20], 3),
            "context_tokens": round(median(one.context_tokens for one in windows), 1),
            "accept_length": round(median(one.accept_length for one in windows), 3),
        }
    return FindingMade(
        target=target,
        name="running_requests",
        value=round(seen.running, 3),
        n=seen.lines,
        method="log",
        source="decode lines of its log",
        figures=figures,
    )


def with_left_out(found: FindingMade, users: Users, *, zoned: bool) -> FindingMade:
    """How much of the log is our own load; a log file's clock has no zone, so there it cannot be told."""
    told = f"{users.left_out} lines of our own measurements left out"
    flags = found.flags if zoned else (*found.flags, "our own measurements are in it: its log's clock has no zone")
    figures = found.figures | {"own_lines": float(users.left_out)}
    return found.model_copy(update={"figures": figures, "flags": (*flags, *((told,) if users.left_out else ()))})


def of_this_start(lines: Sequence[Said]) -> Sequence[Said]:
    """The lines after the last ones with which an engine began; all where none did."""
    begins = [index for index, one in enumerate(lines) if one.line.kind in ("args", "ready")]
    return lines[begins[-1] + 1 :] if begins else lines


def age_s(facts: Facts) -> float | None:
    """How long the engine's process has run, by the host's own clock; None where that cannot be seen."""
    ticks = facts.process.started_ticks
    age = facts.host.uptime_s - ticks / TICKS_A_SECOND
    return age if ticks and age >= 0 else None


def replicas_of(levels: Sequence[Level], logged: Sequence[ReplicaLoad]) -> list[Member]:
    """Replicas of the one server: over its widest level, else as its log shows them."""
    told = [level for level in levels if len(level.replicas) > 1]
    widest = max(told, key=lambda level: seen_of(level).streams, default=None)
    return [Member(one.name, one.running) for one in (widest.replicas if widest else logged)]


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
        queued=level.queued_most if level.queued_usual is None else level.queued_usual,
        hit=sum(one.cached_tokens or 0 for one in told) / given if given else None,
        lag_ms=level.client_lag_ms,
        sessions=falling([Found(one.known_prompt_tokens or 0, one.cached_tokens or 0) for one in told]),
        replicas=max(1, len(level.replicas)),
    )
