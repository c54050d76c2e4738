"""Pieces of a trace parsed by the workers of a Dask cluster, folded here in order: the same totals as one process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from console import __version__
from console.errors import RefusedError, UnreachableError, UsageError
from console.measure.trace_files import Batches, Work, parse

# Pieces on their way for each thread of the cluster: enough that none waits, few enough to be held in memory.
AHEAD = 2
CONNECT_S = 10.0


def version() -> str:
    return __version__


@contextmanager
def on_dask(address: str) -> Iterator[Batches]:
    """What does the parsing on a cluster. A Dask worker runs whatever it is sent: use a cluster of your own.

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
    finally:
        client.close()
