"""What every request of a measurement goes through: its id, its time, who else is there, and taking it back."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from console.clock import Clock
from console.engines.base import Engine, Generation, Reply, Request
from console.engines.measuring import Measuring, Wanted
from console.errors import NotMeasuredError
from console.facts.clocks import Clocks, look_at_clocks
from console.facts.watch import Watch, watch_once
from console.measure.limits import Limits
from console.remote.session import Reader
from console.schema.traffic import Counters, Traffic

# A connection that dies under a measurement ends the request it carried; the next one waits this long for a new one.
PATIENCE_S = 30.0


@dataclass(frozen=True)
class Answer:
    """One generation: what the engine says of it, and how long it took as seen from here, seconds."""

    read: Generation
    client_s: float
    stream: tuple[tuple[float, int], ...] = ()  # seconds since it was sent, tokens by then
    first_s: float | None = None  # since it was sent: the first part with text, reasoning or a tool's call in it

    @property
    def seconds(self) -> float:
        """How long it took by the engine's clock where it says, else as seen from here."""
        return self.read.server_time_s or self.client_s


@dataclass
class Bench:
    """One target while it is measured. `later` takes work that must still be done after a stop, and is waited for."""

    reader: Reader
    engine: Engine
    measuring: Measuring
    clock: Clock
    limits: Limits
    request_id: str
    say: Callable[..., object]
    later: Callable[[Coroutine[Any, Any, Any]], None]
    nonce: str = ""
    model: str = ""  # as the engine names it
    log: str = ""  # the file that the engine logs to, where it is not the journal
    sent: int = 0
    cursor: str = ""
    invocation: str = ""
    watched: list[Watch] = field(default_factory=list)
    clocks_take_s: float = math.inf  # how long asking for the GPUs' clocks takes; inf: they are not asked for
    warm_after: int | None = None  # requests until the answers of this process were steady; None: nobody looked yet

    async def generate(
        self,
        prompt: str | tuple[int, ...],
        output_tokens: int,
        *,
        ignore_eos: bool = True,
        stream: bool = False,
        beside: Callable[[], Awaitable[None]] | None = None,
    ) -> Answer:
        """Ask once and wait for the whole answer. `beside` runs meanwhile and ends with it.

        Ids are of one width, so that taking back one never takes back another. A stop takes the request back on the
        server, too. Raises NotMeasuredError when the engine is gone, ConnectError when the host is.
        """
        self.sent += 1
        name = f"{self.request_id}-{self.sent:06d}"
        request = self.measuring.generate(Wanted(prompt, output_tokens, name, ignore_eos, stream))
        parts = Parts(self.measuring)
        watching = None if beside is None else asyncio.ensure_future(beside())
        try:
            reply = await (self.reader.stream(request, parts.take) if stream else self.reader.fetch(request))
        except asyncio.CancelledError:
            self.later(self.take_back(name))
            raise
        finally:
            if watching is not None:
                watching.cancel()
        if reply.status == 0:
            self.later(self.take_back(name))
            raise NotMeasuredError(
                f"the engine does not answer: {reply.error}",
                where=self.reader.target.name,
                hint=f"journalctl -u {self.reader.target.service.unit} -n 200 on the host shows its last words",
            )
        if stream and parts.last is not None:
            return Answer(parts.last, reply.duration_s, tuple(parts.seen), parts.first_s)
        return Answer(self.measuring.read(reply), reply.duration_s)

    async def take_back(self, name: str) -> None:
        """Let the engine forget exactly this request; nobody is told when it cannot."""
        request = self.measuring.abort(name)
        if request is not None:
            for reader in (self.reader, *(each for each in self.reader.nodes if each.target.part)):
                await reader.fetch(request)

    async def traffic(self) -> Traffic:
        """Requests on the server now."""
        replies: dict[str, Reply] = {}
        for request in self.measuring.traffic_requests():
            if request.unless and replies.get(request.unless, Reply(0)).status == 200:
                continue
            replies[request.path] = await self.reader.fetch(request)
        return self.measuring.read_traffic(replies)

    async def counters(self) -> Counters:
        request = self.measuring.counters_request()
        return Counters() if request is None else self.measuring.read_counters(await self.reader.fetch(request))

    async def tokens_of(self, text: str) -> tuple[int, ...] | None:
        """Token ids by the engine's own tokenizer; None where it does not say."""
        return self.measuring.read_tokens(await self.reader.fetch(self.measuring.tokenize(text)))

    async def clocks(self) -> Clocks | None:
        """The GPUs' clocks now; asked for no more on a host that does not tell."""
        if self.clocks_take_s == math.inf:
            return None
        began = self.clock.monotonic()
        seen = await look_at_clocks(self.reader)
        self.clocks_take_s = math.inf if seen is None else self.clock.monotonic() - began
        return seen

    async def round_trip_s(self, times: int = 3) -> float:
        """The quickest of a few answers that cost the engine nothing: the path's own share of every request."""
        request: Request = self.engine.status_requests()[0]
        return min([(await self.reader.fetch(request)).duration_s for _ in range(times)])

    async def watch(self) -> Watch:
        """The journal since the last look. Raises NotMeasuredError when another start of the service answers now."""
        seen = await watch_once(
            self.reader,
            self.engine,
            self.reader.target.service.port,
            self.cursor,
            patience_s=PATIENCE_S,
            gpus=False,
            log=self.log,
        )
        self.cursor = seen.cursor
        if self.invocation and seen.invocation != self.invocation:
            raise NotMeasuredError(
                f"{seen.unit.id} was started again under the measurement (invocation {seen.invocation or 'none'})",
                where=self.reader.target.name,
                hint="what was measured before is kept, and marked as partial",
            )
        self.invocation = seen.invocation
        return seen


@dataclass
class Parts:
    """A streamed answer as it comes: when how many tokens were there."""

    measuring: Measuring
    seen: list[tuple[float, int]] = field(default_factory=list)
    last: Generation | None = None
    first_s: float | None = None
    rest: bytes = b""

    def take(self, at_s: float, part: bytes) -> None:
        *lines, self.rest = (self.rest + part).split(b"\n")
        for line in lines:
            read = self.measuring.read_part(line.decode("utf-8", "replace"))
            if read is None:
                continue
            if self.first_s is None and (read.text or read.completion_tokens):
                self.first_s = at_s
            if read.completion_tokens is None and self.last is not None and self.last.completion_tokens is not None:
                continue  # a last part without counts takes none away
            self.last = read
            if read.completion_tokens:
                self.seen.append((at_s, read.completion_tokens))
