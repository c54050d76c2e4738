"""A replay sent by a cluster: whole sessions a worker, every request once, clocks that agree, an end when stopped."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from console.analysis.workload.schedule import Planned
from console.errors import RefusedError
from console.measure.dask_replay import Done, Share, SpreadReplay, send_share, shares_of
from console.measure.dask_workers import Senders
from console.measure.load import Wish
from console.schema.loads import Sent
from tests.measure.made_up import MadeUpEngine, bench

PLANNED = tuple(
    Planned(at_s=number / 10, input=100, output=8, blocks=(), known=0, line=number + 1, session=number % 5)
    for number in range(40)
)


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_a_share_has_whole_sessions_and_together_they_are_all(workers: int) -> None:
    shares = shares_of(PLANNED, workers)
    assert sorted(place for share in shares for place in share) == list(range(len(PLANNED)))
    assert all(shares)
    for session in range(1, 5):
        assert sum(any(PLANNED[place].session == session for place in share) for share in shares) == 1
    assert shares_of([replace(one, session=7) for one in PLANNED], workers) == [list(range(len(PLANNED)))]


class Cluster:
    """Workers that answer each request in half a second, or that wait until they are stopped."""

    def __init__(self, *, waits: bool = False) -> None:
        self.workers = 2
        self.shares: list[Share] = []
        self.stopped: list[str] = []
        self.over = threading.Event()
        self.waits = waits

    def send(self, shares: Sequence[Share]) -> list[Done]:
        self.shares = list(shares)
        if self.waits:
            self.over.wait(20)
        return [self.done(share) for share in shares]

    def done(self, share: Share) -> Done:
        sent = [
            (place, Sent(scheduled_s=one.at_s, sent_s=one.at_s, first_s=one.at_s + 0.1, ended_s=one.at_s + 0.5,
                         prompt_tokens=one.input, completion_tokens=one.output))
            for place, one in zip(share.places, share.planned, strict=True)
        ]  # fmt: skip
        return Done(tuple(sent), tuple((one.at_s + 0.5, one.output) for one in share.planned), (0.001,))

    def stop(self, name: str) -> None:
        self.stopped.append(name)
        self.over.set()


def spread(cluster: Cluster) -> SpreadReplay:
    wish = Wish(1, len(PLANNED), 1, 10.0)
    more: dict[str, Any] = {"planned": PLANNED, "base": (1, 2, 3), "block_tokens": 512, "cluster": cluster}
    return SpreadReplay(bench(MadeUpEngine()), wish, lambda: (), random.Random(1), **more)


async def test_what_came_back_is_what_one_process_would_have_sent() -> None:
    cluster = Cluster()
    made = spread(cluster)
    await made._arriving()
    assert [made.done[place].scheduled_s for place in range(len(PLANNED))] == [one.at_s for one in PLANNED]
    level = made.level("measured", "")
    assert sum(one.completion_tokens or 0 for one in level.requests) == 8 * len(PLANNED)
    assert [one.scheduled_s for one in level.requests] == sorted(one.at_s for one in PLANNED)
    assert len({share.request_id for share in cluster.shares}) == 2
    assert len({share.begins_unix_s for share in cluster.shares}) == 1


async def test_a_stop_reaches_the_workers() -> None:
    cluster = Cluster(waits=True)
    work = asyncio.ensure_future(spread(cluster)._arriving())
    while not cluster.shares:  # noqa: ASYNC110 - another thread takes them
        await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert cluster.stopped == [cluster.shares[0].name]


class Client:
    """What is used of a Dask client."""

    def __init__(self, late_s: float) -> None:
        self.late_s = late_s
        self.sent: list[tuple[Any, ...]] = []

    def nthreads(self) -> dict[str, int]:
        return {"tcp://b": 1, "tcp://a": 1}

    def run(self, function: Callable[[], float]) -> dict[str, float]:
        assert function is time.time
        return {"tcp://a": time.time(), "tcp://b": time.time() - self.late_s}

    def submit(self, function: Callable[..., Any], share: object, **more: Any) -> object:
        self.sent.append((function, share, more["workers"], more["allow_other_workers"]))
        return SimpleNamespace()

    def gather(self, futures: list[Any]) -> list[Any]:
        return [None for _ in futures]


def test_clocks_are_checked_and_each_worker_has_one_share() -> None:
    client = Client(0.0)
    senders = Senders(client, "tcp://here")
    assert (senders.workers, senders.check_clocks() < 0.05) == (2, True)
    shares: list[Any] = ["first", "second"]
    senders.send(shares)
    assert client.sent == [(send_share, "first", ["tcp://a"], False), (send_share, "second", ["tcp://b"], False)]
    with pytest.raises(RefusedError, match=r"the clock of worker tcp://b is 3\.00 s from ours"):
        Senders(Client(3.0), "tcp://here").check_clocks()
