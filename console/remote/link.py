"""The one connection to a host that everything of a run shares, opened again when it dies."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import asyncssh

from console.clock import Clock
from console.errors import UnreachableError
from console.remote.exchange import Exchange, exchange
from console.remote.ssh import Connections, Opened
from console.schema.facts import Facts
from console.schema.hosts import Target

# sshd's MaxSessions is 10; two stay free for whoever multiplexes over the same login.
SESSIONS_AT_ONCE = 8
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 10.0

OnConnection = Callable[[str, str], None]


@dataclass(frozen=True)
class Seen:
    """What was read before anybody joined, over which of the link's connections, and when by the loop's clock."""

    facts: Facts
    generation: int
    at: float


class Link:
    """Keeps a connection for all who joined. They hear (state, message): connected · lost · reconnecting · closed."""

    def __init__(self, target: Target, connections: Connections, clock: Clock) -> None:
        self.target = target
        self.connections = connections
        self.clock = clock
        self.opened: Opened | None = None
        self.generation = 0
        self._opening = asyncio.Lock()
        self._sessions = asyncio.Semaphore(SESSIONS_AT_ONCE)
        self._watchers: set[asyncio.Task[None]] = set()
        self._owed: set[asyncio.Task[Exchange]] = set()
        self._closed = False
        self.uid = ""  # of the login, as the first script told it
        self.terminal = False  # sudo on this host wants one (requiretty)
        self.adrift: set[str] = set()  # scripts that act, and whose connection died before they said how they ended
        self._reconnecting = False
        self._users = 0
        self._begun: asyncio.Task[asyncssh.SSHClientConnection] | None = None
        self._listeners: list[OnConnection] = []

    def begin(self) -> asyncio.Task[asyncssh.SSHClientConnection]:
        """Connect while something else is still being done. Whoever joins first hears how it went."""
        if self._begun is None:
            self._begun = asyncio.create_task(self.connection())
        return self._begun

    async def join(self, listener: OnConnection | None) -> None:
        """One more user, who calls aclose once. Raises ConnectError when there is no connection."""
        self._users += 1
        there, begun = self.alive, self._begun
        self._begun = None
        if not there:
            self._hear(listener)
            await (begun or self.connection())
            return
        self._hear(listener)
        if listener is not None:
            listener("connected", self._greeting("" if begun else "shared, "))

    async def abandon(self) -> None:
        """Let go of what was begun and nobody joined."""
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.cancel()
            await asyncio.gather(begun, return_exceptions=True)
            await self._close()

    def _hear(self, listener: OnConnection | None) -> None:
        if listener is not None:
            self._listeners.append(listener)

    def say(self, state: str, message: str) -> None:
        for listener in self._listeners:
            listener(state, message)

    @property
    def alive(self) -> bool:
        return self.opened is not None and not self.opened.lost.is_set()

    async def connection(self) -> asyncssh.SSHClientConnection:
        """The live connection; a dead one is opened again, once. Raises ConnectError."""
        async with self._opening:
            if self.opened is None or self.opened.lost.is_set():
                await self._open()
            assert self.opened is not None
            return self.opened.connection

    async def reconnect(self, *, patience_s: float) -> None:
        """Open a dead connection again, with growing pauses, until `patience_s` of the clock is over.

        Raises UnreachableError then, and any other ConnectError at once: a changed key or a refused login stays.
        """
        deadline = self.clock.monotonic() + patience_s
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                await self.connection()
            except UnreachableError:
                left_s = deadline - self.clock.monotonic()
                if left_s <= 0:
                    raise
                jitter = self.connections.randomness.uniform(0.8, 1.2)
                await self.clock.sleep(min(pause_s * jitter, left_s))
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            else:
                return

    async def run(self, script: bytes, *, timeout_s: float, name: str = "") -> Exchange:
        """One script, within the number of sessions a server allows. Raises ConnectError without a connection."""
        async with self._sessions:
            connection = await self.connection()
            return await exchange(connection, script, timeout_s=timeout_s, name=name, terminal=self.terminal)

    def owe(self, script: bytes, *, timeout_s: float) -> None:
        """Send a script without waiting for it; the connection is not closed before it has ended."""
        task = asyncio.create_task(self.run(script, timeout_s=timeout_s))
        self._owed.add(task)
        task.add_done_callback(self._paid)

    def _paid(self, task: asyncio.Task[Exchange]) -> None:
        self._owed.discard(task)
        if not task.cancelled():
            task.exception()  # nobody waits for it; a host that cannot be reached is told elsewhere

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[asyncssh.SSHClientConnection]:
        """A place among the sessions, for a process that stays."""
        async with self._sessions:
            yield await self.connection()

    async def aclose(self, listener: OnConnection | None = None) -> None:
        """One user less, who hears no more; the last one closes."""
        self._users -= 1
        if self._users > 0:
            if listener in self._listeners:
                self._listeners.remove(listener)
            return
        if self._owed:
            await asyncio.wait(self._owed)
        await self._close()

    async def _close(self) -> None:
        self._closed = True
        if self.connections.links.get(self.target.host_name) is self:
            del self.connections.links[self.target.host_name]
        if self.opened is not None and not self.opened.lost.is_set():
            self.opened.connection.close()
            with contextlib.suppress(asyncssh.Error, OSError, TimeoutError):
                async with asyncio.timeout(5):
                    await self.opened.connection.wait_closed()
            self.say("closed", "")
        for watcher in self._watchers:
            watcher.cancel()

    async def _open(self) -> None:
        again = self.opened is not None
        if again and not self._reconnecting:
            self._reconnecting = True
            self.say("reconnecting", "")
        self.opened = opened = await self.connections.open(self.target)
        self.generation += 1
        self.uid = ""
        self._reconnecting = False
        self.say("connected", self._greeting("again, " if again else ""))
        watcher = asyncio.create_task(self._watch(opened))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)

    def _greeting(self, how: str) -> str:
        assert self.opened is not None
        return how + "; ".join((self.opened.auth, *self.opened.warnings))

    async def _watch(self, opened: Opened) -> None:
        await opened.lost.wait()
        if not self._closed:
            self.say("lost", f"the connection to {self.target.host_name} is gone")


def shared_link(target: Target, connections: Connections, clock: Clock) -> Link:
    """The host's link: two services of one host share its connection."""
    return connections.links.setdefault(target.host_name, Link(target, connections, clock))
