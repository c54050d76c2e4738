"""A replay whose requests are sent by the workers of a Dask cluster: one schedule, cut by session, one result.

Each worker logs in to the target's host by its own SSH configuration and sends its share at the moments of the whole
schedule. What comes back is put together here: the requests are those that one process would have sent.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from console.analysis.workload.schedule import Planned
from console.clock import SystemClock
from console.engines.measuring import measuring_of
from console.engines.registry import engine_named
from console.measure.bench import Bench
from console.measure.limits import Limits
from console.measure.load import Wish
from console.measure.replay import Replay
from console.remote.session import connect_reader
from console.schema.hosts import Target
from console.schema.loads import Sent
from console.secrets import Redactor

# Until all workers have logged in; seconds of the wall.
LEAD_S = 8.0
STOP_EVERY_S = 0.2
# Replays that were stopped, by their name; set in every worker's process by `stop`.
STOPPED: set[str] = set()


@dataclass(frozen=True)
class Share:
    """What one worker sends. `places` are those of the whole schedule; `begins_unix_s` is the schedule's zero."""

    name: str
    target: Target
    request_id: str
    model: str
    limits: Limits
    places: tuple[int, ...]
    planned: tuple[Planned, ...]
    base: tuple[int, ...]
    block_tokens: int
    begins_unix_s: float
    speed: float


@dataclass(frozen=True)
class Done:
    """What became of a share. Moments are seconds since the schedule's zero."""

    sent: tuple[tuple[int, Sent], ...]
    arrivals: tuple[tuple[float, int], ...]
    lags_s: tuple[float, ...]


class Cluster(Protocol):
    """The workers; blocking, so it is called in a thread."""

    @property
    def workers(self) -> int: ...

    def send(self, shares: Sequence[Share]) -> list[Done]:
        """One share a worker. Raises RefusedError for a worker that cannot."""
        ...

    def stop(self, name: str) -> None: ...


def shares_of(planned: Sequence[Planned], workers: int) -> list[list[int]]:
    """Places of the schedule by worker: whole sessions, requests without one by their line; none is empty."""
    found: list[list[int]] = [[] for _ in range(workers)]
    for place, one in enumerate(planned):
        found[(one.session or one.line) % workers].append(place)
    return [one for one in found if one]


@dataclass
class SpreadReplay(Replay):
    """A replay that others send; what is looked at meanwhile is looked at from here."""

    cluster: Cluster | None = None

    async def _arriving(self) -> None:
        assert self.cluster is not None
        bench, clock = self.bench, self.bench.clock
        speed = clock.speed if isinstance(clock, SystemClock) else 1.0
        self.began_s = clock.monotonic() + LEAD_S * speed
        begins = time.time() + LEAD_S
        shares = [
            Share(
                name=bench.request_id,
                target=bench.reader.target,
                request_id=f"{bench.request_id}-{number:03d}",
                model=bench.model,
                limits=bench.limits,
                places=tuple(places),
                planned=tuple(self.planned[place] for place in places),
                base=tuple(self.base),
                block_tokens=self.block_tokens,
                begins_unix_s=begins,
                speed=speed,
            )
            for number, places in enumerate(shares_of(self.planned, self.cluster.workers))
        ]
        try:
            done = await asyncio.to_thread(self.cluster.send, shares)
        except asyncio.CancelledError:
            await asyncio.to_thread(self.cluster.stop, bench.request_id)
            raise
        for one in done:
            self.take(one)

    def take(self, done: Done) -> None:
        for place, sent in done.sent:
            self.done[place] = sent
            self.sent.append(sent)
        self.arrivals += done.arrivals
        self.lags_s += done.lags_s


def send_share(share: Share) -> Done:
    """In a worker: all requests of a share, each at its moment. Raises ConsoleError when it cannot."""
    return asyncio.run(sending(share))


def stop_sending(name: str) -> None:
    """In a worker: end the share of that replay; its requests are taken back."""
    STOPPED.add(name)


async def sending(share: Share) -> Done:
    clock = SystemClock(speed=share.speed)
    owed: list[asyncio.Task[None]] = []
    reader = await connect_reader(share.target, redactor=Redactor(), clock=clock, environment=os.environ)
    try:
        engine = engine_named(share.target.service.engine)
        bench = Bench(
            reader=reader,
            engine=engine,
            measuring=measuring_of(engine.name),
            clock=clock,
            limits=share.limits,
            request_id=share.request_id,
            say=lambda **_: None,
            later=lambda work: owed.append(asyncio.ensure_future(work)),
            model=share.model,
        )
        replay = Replay(
            bench,
            Wish(1, len(share.planned), 1, 1.0),
            lambda: (),
            random.Random(0),  # noqa: S311 - nothing is drawn: the schedule says everything
            planned=share.planned,
            base=share.base,
            block_tokens=share.block_tokens,
        )
        began_s = clock.monotonic() + (share.begins_unix_s - time.time()) * share.speed
        work = asyncio.ensure_future(replay.send_from(began_s))
        while not work.done():
            await asyncio.wait([work], timeout=STOP_EVERY_S)
            if share.name in STOPPED:
                work.cancel()
        await asyncio.gather(work, return_exceptions=share.name in STOPPED)
        return Done(
            tuple((share.places[place], sent) for place, sent in replay.done.items()),
            tuple(replay.arrivals),
            tuple(replay.lags_s),
        )
    finally:
        await asyncio.gather(*owed, return_exceptions=True)
        await reader.aclose()
