"""A Dask cluster: pieces of a trace parsed there and folded here in order, or a replay sent from there."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from console import __version__
from console.errors import RefusedError, UnreachableError, UsageError
from console.measure.dask_replay import Done, Share, send_share, stop_sending
from console.measure.trace_files import Batches, Work, parse

# Pieces on their way for each thread of the cluster: enough that none waits, few enough to be held in memory.
AHEAD = 2
CONNECT_S = 10.0
MOST_APART_S = 0.05


def version() -> str:
    return __version__


@contextmanager
def client_of(address: str) -> Iterator[Any]:
    """A Dask client whose workers have our version. A worker runs whatever it is sent: use a cluster of your own.

    Raises UsageError without the extra, UnreachableError without a cluster, RefusedError where workers have another
    version of us.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise UsageError("--dask needs Dask", hint="pip install distributed, here and on the workers") from None
    try:
        client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UnreachableError(f"no Dask scheduler: {str(error)[:200]}", where=address) from None
    try:
        versions = client.run(version)
        if not versions:
            raise RefusedError("the cluster has no worker", where=address)
        other = {worker: told for worker, told in versions.items() if told != __version__}
        if other:
            worker, told = next(iter(other.items()))
            raise RefusedError(f"worker {worker} has console {told}, this is {__version__}", where=address)
        yield client
    finally:
        client.close()


@contextmanager
def on_dask(address: str) -> Iterator[Batches]:
    """What does the parsing on a cluster. Raises as `client_of` does."""
    with client_of(address) as client:
        most = AHEAD * sum(client.nthreads().values())

        def batches(work: Iterator[Work]) -> Iterator[Any]:
            pending: deque[Any] = deque()
            for piece, columns, header in work:
                pending.append(client.submit(parse, piece, columns, header, pure=False))
                if len(pending) >= most:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()

        yield batches


class Senders:
    """The workers of a cluster as those who send a replay, see `dask_replay.Cluster`."""

    def __init__(self, client: Any, address: str) -> None:
        self.client = client
        self.names = tuple(sorted(client.nthreads()))
        self.address = address

    @property
    def workers(self) -> int:
        return len(self.names)

    def check_clocks(self) -> float:
        """The largest difference of a worker's clock from ours, seconds. Raises RefusedError above 50 ms.

        Moments are told by each worker's own clock, so a wrong one would send its whole share early or late.
        """
        asked = time.time()
        told: dict[str, float] = self.client.run(time.time)
        answered = time.time()
        middle, half = (asked + answered) / 2, (answered - asked) / 2
        apart = {worker: abs(at - middle) for worker, at in told.items()}
        worst = max(apart, key=lambda name: apart[name])
        if apart[worst] > MOST_APART_S + half:
            raise RefusedError(
                f"the clock of worker {worst} is {apart[worst]:.2f} s from ours",
                where=self.address,
                hint="chronyc tracking there and here: a replay needs clocks within 50 ms",
            )
        return apart[worst]

    def send(self, shares: Sequence[Share]) -> list[Done]:
        sent = [
            self.client.submit(send_share, share, workers=[name], allow_other_workers=False, pure=False)
            for share, name in zip(shares, self.names, strict=False)
        ]
        return list(self.client.gather(sent))

    def stop(self, name: str) -> None:
        self.client.run(stop_sending, name)
