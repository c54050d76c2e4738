"""Several streams at once: latencies by the engine's counts, throughput while all are busy, and whether we kept up."""

from __future__ import annotations

import asyncio
import gc
import math
import random
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from console.analysis.statistics.quantiles import quantile
from console.measure.bench import Answer, Bench
from console.measure.latencies import between_tokens_s, figures_of
from console.measure.pairs import others
from console.measure.replica_looks import ReplicaLooks
from console.schema.loads import Level, Sent

# How often the server is asked how busy it is, and our own loop how late; seconds.
LOOK_EVERY_S = 1.0
PROBE_EVERY_S = 0.2
SAY_EVERY_S = 0.5
# Our own lag (p99) may be this share of a time that is told; above, we measure ourselves.
LAG_SHARE = 0.05
# The window over which tokens count: from the first to the last moment with this share of the most streams at once.
STEADY_SHARE = 0.9
LATE_S = 0.010


@dataclass(frozen=True)
class Wish:
    """One level. `per_s` 0: `streams` workers, each sending when its last answer has ended (closed loop)."""

    streams: int
    requests: int
    output_tokens: int
    per_s: float = 0.0
    gpus: int = 1


@dataclass
class LoadLevel:
    """A level while it is measured."""

    bench: Bench
    wish: Wish
    prompt: Callable[[], tuple[int, ...]]
    chance: random.Random
    began_s: float = 0.0
    sent: list[Sent] = field(default_factory=list)
    arrivals: list[tuple[float, int]] = field(default_factory=list)  # when how many tokens came
    lags_s: list[float] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    queued: list[int] = field(default_factory=list)
    usage: list[float] = field(default_factory=list)
    replicas: ReplicaLooks = field(default_factory=ReplicaLooks)
    foreign: bool = False
    said_s: float = -math.inf

    async def measure(self) -> Level:
        """Send all requests of the level. Raises NotMeasuredError, ConnectError; the others are ended then."""
        if others(await self.bench.traffic()):
            return self.level("refused", "server busy")
        with collected():
            await self._run()
        return self.level(*self._verdict())

    async def _run(self) -> None:
        self.began_s = self.bench.clock.monotonic()
        beside = [asyncio.ensure_future(self._probe()), asyncio.ensure_future(self._look())]
        work = [asyncio.ensure_future(self._arriving() if self.wish.per_s else self._closed())]
        try:
            await asyncio.gather(*work)
        finally:
            for task in (*work, *beside):
                task.cancel()
            await asyncio.gather(*work, *beside, return_exceptions=True)

    def now_s(self) -> float:
        return self.bench.clock.monotonic() - self.began_s

    async def _closed(self) -> None:
        left = iter(range(self.wish.requests))

        async def worker() -> None:
            for _ in left:
                await self._send(self.now_s())

        await together([worker() for _ in range(self.wish.streams)])

    async def _arriving(self) -> None:
        """Each is sent at its own moment, whether or not earlier ones have ended."""

        async def at(moment_s: float) -> None:
            await self.bench.clock.sleep(max(0.0, moment_s - self.now_s()))
            await self._send(moment_s)

        moments, moment = [], 0.0
        for _ in range(self.wish.requests):
            moments.append(moment)
            moment += self.chance.expovariate(self.wish.per_s)
        await together([at(moment) for moment in moments])

    async def _send(self, scheduled_s: float) -> None:
        sent_s = self.now_s()
        answer = await self.bench.generate(self.prompt(), self.wish.output_tokens, stream=True)
        self._keep(scheduled_s, sent_s, answer)

    def _keep(self, scheduled_s: float, sent_s: float, answer: Answer) -> None:
        read = answer.read
        tokens = [(at, count) for at, count in answer.stream if count]  # a first part without a token is no token
        first_s = answer.first_s if answer.first_s is not None else tokens[0][0] if tokens else None
        ended_s = tokens[-1][0] if tokens else answer.client_s
        before = 0
        for at, count in tokens if len(tokens) > 1 else spread(first_s, ended_s, read.completion_tokens or 0):
            self.arrivals.append((sent_s + at, count - before))
            before = count
        why = read.error or ("" if read.completion_tokens == self.wish.output_tokens else "ended early")
        self.sent.append(
            Sent(
                scheduled_s=scheduled_s,
                sent_s=sent_s,
                first_s=None if first_s is None else sent_s + first_s,
                ended_s=sent_s + ended_s,
                first_tokens=tokens[0][1] if len(tokens) > 1 else 1,
                prompt_tokens=read.prompt_tokens,
                completion_tokens=read.completion_tokens,
                cached_tokens=read.cached_tokens,
                finish=read.finish_reason or "",
                refused=why,
            )
        )
        self._say()

    def _say(self) -> None:
        """How far it is, now and then: each line of progress costs time of the loop that sends."""
        now_s = self.now_s()
        if now_s - self.said_s >= SAY_EVERY_S or len(self.sent) == self.wish.requests:
            self.said_s = now_s
            self.bench.say(phase=self.name, done=len(self.sent), total=self.wish.requests)

    @property
    def name(self) -> str:
        return f"{self.wish.per_s:g} requests a second" if self.wish.per_s else f"{self.wish.streams} streams"

    async def _probe(self) -> None:
        """How late our own loop is: what it adds to every moment it takes down."""
        while True:
            before = self.bench.clock.monotonic()
            await self.bench.clock.sleep(PROBE_EVERY_S)
            self.lags_s.append(max(0.0, self.bench.clock.monotonic() - before - PROBE_EVERY_S))

    async def _look(self) -> None:
        """What the server says meanwhile; nothing of it generates."""
        while True:
            await self.bench.clock.sleep(LOOK_EVERY_S)
            traffic = await self.bench.traffic()
            self.running += [] if traffic.running is None else [traffic.running]
            self.queued += [] if traffic.queued is None else [traffic.queued]
            if not self.wish.per_s and others(traffic, ours=self.wish.streams):
                self.foreign = True
            counted = self.bench.engine.read_counters(
                await self.bench.reader.fetch(self.bench.engine.counters_request())
            )
            self.usage += [] if counted.pool_usage is None else [counted.pool_usage]
            self.replicas.add(traffic.by_replica or counted.running_by_replica, counted.retracted)

    def _verdict(self) -> tuple[str, str]:
        if self.foreign:
            return "refused", "server busy: others came meanwhile"
        if not any(not one.refused for one in self.sent):
            return "refused", next((one.refused for one in self.sent if one.refused), "nothing was answered")
        if late := self._too_slow():
            return "refused", f"the client is the bottleneck: {late}"
        return "measured", ""

    def _too_slow(self) -> str:
        """Why our own loop would be measured; empty where it kept up.

        It adds its lateness to a time to the first token, and at most that to a whole answer's span; between two
        tokens it is divided by their number. A loop that is always later than a token takes falls behind them.
        """
        lag_s = self.lag_p99_s
        if lag_s is None:
            return ""
        good = [one for one in self.sent if not one.refused and one.first_s is not None and one.ended_s is not None]
        told = f"our own loop was {lag_s * 1000:.1f} ms late"
        for what, values in (
            ("to the first token", [(one.first_s or 0.0) - one.sent_s for one in good]),
            ("of an answer's tokens", [(one.ended_s or 0.0) - (one.first_s or 0.0) for one in good]),
        ):
            middle_s = quantile(values, 0.5).value if values else math.inf
            if lag_s > LAG_SHARE * middle_s:
                return f"{told}, {middle_s * 1000:.0f} ms is the time {what}"
        gaps = [gap for one in good if (gap := between_tokens_s(one)) is not None]
        usual_s = quantile(self.lags_s, 0.5).value
        if gaps and usual_s > quantile(gaps, 0.5).value:
            return f"{told}, {usual_s * 1000:.1f} ms usually, and that is longer than a token takes"
        return ""

    @property
    def lag_p99_s(self) -> float | None:
        return quantile(self.lags_s, 0.99).value if self.lags_s else None

    def level(self, state: str, reason: str) -> Level:
        """What it has come to; its figures only where it is measured."""
        window = steady(self.sent) if state == "measured" else None
        tokens = sum(count for at, count in self.arrivals if window and window[0] < at <= window[1])
        rate = None if window is None else 60 * tokens / (window[1] - window[0]) / self.wish.gpus
        lag_s = self.lag_p99_s
        late = [one.sent_s - one.scheduled_s for one in self.sent]
        flags = [f"{sum(bool(one.refused) for one in self.sent)} requests refused"]
        flags = flags if flags[0][0] != "0" else []
        figures, few = figures_of(self.sent) if state == "measured" else ({}, ())
        if self.wish.per_s and late and quantile(late, 0.99).value > LATE_S:
            flags.append(f"sent up to {max(late) * 1000:.0f} ms late")
        return Level.model_validate(
            {
                "streams": self.wish.streams,
                "per_s": self.wish.per_s,
                "state": state,
                "reason": reason,
                "requests": self.sent,
                "window_s": None if window is None else window[1] - window[0],
                "tok_min_gpu": rate,
                "gpus": self.wish.gpus,
                "running_most": max(self.running, default=None),
                "queued_most": max(self.queued, default=None),
                "queued_usual": sorted(self.queued)[len(self.queued) // 2] if self.queued else None,
                "pool_usage_most": max(self.usage, default=None),
                "retracted": self.replicas.retracted,
                "replicas": self.replicas.loads(),
                "client_lag_ms": None if lag_s is None else lag_s * 1000,
                "figures": figures,
                "flags": [*flags, *few],
            }
        )


@contextmanager
def collected() -> Iterator[None]:
    """Nothing that lives now is looked at by the garbage collector: a whole look takes 0.1 s, and we would be late."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


async def together(work: list[Coroutine[None, None, None]]) -> None:
    """All of them; the first that fails ends the others, and is raised once they have ended."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def spread(first_s: float | None, ended_s: float, tokens: int) -> list[tuple[float, int]]:
    """Arrivals of an answer whose tokens were counted at its end only: evenly from its first to its last."""
    if first_s is None or tokens < 2 or ended_s <= first_s:
        return [(ended_s, tokens)]
    return [(first_s + (ended_s - first_s) * number / (tokens - 1), number + 1) for number in range(tokens)]


def steady(sent: list[Sent]) -> tuple[float, float] | None:
    """From the first to the last moment at which nearly as many streams as ever were at work."""
    moments = sorted([(one.sent_s, 1) for one in sent] + [(one.ended_s, -1) for one in sent if one.ended_s is not None])
    counts, at_work = [], 0
    for at, change in moments:
        at_work += change
        counts.append((at, at_work))
    most = max((count for _, count in counts), default=0)
    full = [index for index, (_, count) in enumerate(counts) if count >= STEADY_SHARE * most]
    if not full or full[-1] + 1 >= len(counts):
        return None
    began, ended = counts[full[0]][0], counts[full[-1] + 1][0]
    return (began, ended) if ended > began else None
