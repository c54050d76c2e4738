"""A bad path between a client and a server on loopback: delay, jitter, lost packets, buffering, cuts.

    async with Proxy(port, Path(delay_s=0.075, jitter_s=0.03), random.Random(1)) as proxy:
        ...  # connect to 127.0.0.1:proxy.port

Bytes arrive complete and in order, as TCP delivers them: a lost packet holds up what follows it.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

PIECE = 65536
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)

Rewrite = Callable[[bytes, random.Random], bytes]


def unchanged(data: bytes, rng: random.Random) -> bytes:
    return data


@dataclass(frozen=True)
class Path:
    """Times in seconds, one way. `speed` divides them all, for a server whose time runs that much faster.

    `jitter_s`: standard deviation of a lognormal (shape 1) on top of `delay_s`; `swing_s`: of a normal one, never less
    than no delay. `loss`: share of packets that wait for a retransmission of `timeout_s`, doubled each time. `spikes`:
    share of connections on which something takes 0.3 to 2 s. `buffered`: an answer is handed out when it is complete.
    `cut`: share of connections that die somewhere in their answer. `ask`, `answer`: change the bytes on their way (to
    others of the same length).
    """

    delay_s: float = 0.0
    jitter_s: float = 0.0
    swing_s: float = 0.0
    loss: float = 0.0
    timeout_s: tuple[float, float] = (0.2, 0.4)
    spikes: float = 0.0
    buffered: bool = False
    cut: float = 0.0
    speed: float = 1.0
    ask: Rewrite = unchanged
    answer: Rewrite = unchanged

    def wait_s(self, rng: random.Random) -> float:
        """How long one packet takes, in the server's seconds."""
        wait = max(0.0, self.delay_s + (rng.gauss(0, self.swing_s) if self.swing_s else 0.0))
        if self.jitter_s:
            wait += self.jitter_s / 2.1612 * rng.lognormvariate(0, 1)  # 2.1612: that distribution's own deviation
        timeout = rng.uniform(*self.timeout_s)
        while self.loss and rng.random() < self.loss:
            wait += timeout
            timeout *= 2
        return wait


class Proxy:
    """Listens on a free port of loopback while its context lasts. `connections` and `cuts` are counted."""

    def __init__(self, target: int, path: Path, rng: random.Random) -> None:
        self.target = target
        self.path = path
        self.rng = rng
        self.port = 0
        self.connections = 0
        self.cuts = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            far, forth = await asyncio.open_connection("127.0.0.1", self.target)
        except (OSError, asyncio.CancelledError):  # as below
            back.close()
            self._tasks.discard(task)
            return
        path, rng = self.path, random.Random(self.rng.random())
        first_s = 2 * path.wait_s(rng) + (rng.uniform(0.3, 2.0) if rng.random() < path.spikes else 0.0)
        ways = [
            asyncio.ensure_future(carry(near, forth, path, rng, path.ask, first_s)),
            asyncio.ensure_future(
                give_out(far, back, path, rng) if path.buffered else carry(far, back, path, rng, path.answer, 0.0)
            ),
        ]
        if path.cut and rng.random() < path.cut:
            self.cuts += 1
            ways.append(asyncio.ensure_future(asyncio.sleep(rng.uniform(0.1, 1.0) / path.speed)))
        try:
            # Whichever way ends first ends both: the client is gone, the server is done, or the path was cut.
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            pass  # asyncio's own callback asks a cancelled task for its exception, and prints what that raises
        finally:
            for way in ways:
                way.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*ways, return_exceptions=True)
            for writer in (forth, back):
                writer.close()
            self._tasks.discard(task)


async def carry(
    source: asyncio.StreamReader,
    sink: asyncio.StreamWriter,
    path: Path,
    rng: random.Random,
    change: Rewrite,
    first_s: float,
) -> None:
    """One direction: each piece arrives after its own delay, and never before the one ahead of it."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def read() -> None:
        extra, ahead = first_s, 0.0
        while data := await source.read(PIECE):
            ahead = max(ahead, loop.time() + (path.wait_s(rng) + extra) / path.speed)
            extra = 0.0
            queue.put_nowait((ahead, change(data, rng)))
        queue.put_nowait((ahead, b""))

    reading = asyncio.ensure_future(read())
    try:
        while True:
            due, data = await queue.get()
            if (left := due - loop.time()) > 0:
                await asyncio.sleep(left)
            if not data:
                return
            sink.write(data)
            await sink.drain()
    except (ConnectionError, OSError):
        return
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError, ConnectionError, OSError):
            await reading


async def give_out(source: asyncio.StreamReader, sink: asyncio.StreamWriter, path: Path, rng: random.Random) -> None:
    """The answers of a buffering proxy: each as one piece, once it is complete."""
    held = b""
    with contextlib.suppress(ConnectionError, OSError):
        while data := await source.read(PIECE):
            held += data
            if complete(held):
                await asyncio.sleep(path.wait_s(rng) / path.speed)
                sink.write(path.answer(held, rng))
                await sink.drain()
                held = b""
        sink.write(held)
        await sink.drain()


def complete(held: bytes) -> bool:
    """Whether a whole HTTP answer is there: as long as it says, or ended by the last chunk."""
    head, found, body = held.partition(b"\r\n\r\n")
    if not found:
        return False
    said = LENGTH.search(head)
    return len(body) >= int(said[1]) if said else body.endswith(b"0\r\n\r\n")
