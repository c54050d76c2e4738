"""Stopping: a wait or a measurement stops at once, a change finishes its atomic action."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from console.errors import AbortedError

Choice = Literal["", "leave", "rollback", "wait"]
Result = TypeVar("Result")


@dataclass
class Abort:
    """One per run: where stops arrive, from a signal, the TUI or another terminal. Each target hears all of them."""

    count: int = 0
    kept_on: int = 0  # the last request that a target answered with "keep waiting"
    on_request: Callable[[str, Choice, int], None] = lambda _how, _choice, _count: None
    stops: list[Stop] = field(default_factory=list)

    def request(self, how: str, choice: Choice = "") -> None:
        """Ask the run to stop. The first asks; a second one says what is left where."""
        self.count += 1
        self.on_request(how, choice, self.count)
        for stop in self.stops:
            stop.hear(how, choice)

    def of_target(self) -> Stop:
        """A target's own view: what one target answers stays asked of the others."""
        stop = Stop(self)
        self.stops.append(stop)
        return stop


@dataclass
class Stop:
    """The stops that one target has heard and not answered yet."""

    abort: Abort = field(default_factory=Abort)
    event: asyncio.Event = field(default_factory=asyncio.Event)
    how: str = ""
    choice: Choice = ""

    def hear(self, how: str, choice: Choice = "") -> None:
        self.how = self.how or how
        self.choice = choice or self.choice
        self.event.set()

    @property
    def requested(self) -> bool:
        return self.event.is_set()

    def withdraw(self) -> None:
        """The request is answered and gone, for this target."""
        self.event.clear()
        self.choice = ""
        self.how = ""

    def keep_on(self) -> None:
        """Keep waiting: then the run goes on, so targets whose turn comes later are not stopped either."""
        self.abort.kept_on = self.abort.count
        self.withdraw()

    def begin(self) -> None:
        """This target's turn has come: what was said and taken back before does not concern it."""
        if self.abort.count <= self.abort.kept_on:
            self.withdraw()

    def check(self) -> None:
        """Raise AbortedError when a stop was asked for."""
        if self.requested:
            raise AbortedError(f"stopped by {self.how}")

    async def race(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of `work`, or AbortedError as soon as a stop is asked for; `work` is cancelled then."""
        task = asyncio.ensure_future(work)
        stop = asyncio.ensure_future(self.event.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            task.cancel()
            await settled(task)
            raise AbortedError(f"stopped by {self.how}")
        finally:
            stop.cancel()
            if not task.done():
                task.cancel()


async def settled(task: asyncio.Future[Any], limit_s: float = 0.1) -> None:
    """Give a cancelled task a moment to end; it never delays the answer to the person who pressed stop."""
    await asyncio.wait({task}, timeout=limit_s)
    if task.done() and not task.cancelled():
        task.exception()


async def shielded(work: Awaitable[Result]) -> Result:
    """Finish an atomic action however often the surrounding task is cancelled, then let the cancellation go on."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as stop:
            cancelled = stop
    if cancelled is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # seen; the cancellation is what goes on
    raise cancelled
