"""Looking at the fleet again and again: cheaply, without sudo, and not at all where something is being measured."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from console.errors import ConsoleError, InternalError
from console.tui.session import Seen, Session

if TYPE_CHECKING:
    from console.schema.hosts import Target

AT_ONCE = 8
# Looks that are begun in one go, and how long keys have it to themselves before the next ones are.
BEGUN_AT_ONCE, BREATH_S = 16, 0.02
SLOWEST_S = 120.0
TICK_S = 1.0


class Poller:
    """Keeps `session.seen` fresh and calls `changed` with the name of each target that was looked at.

    The first look at a target is a whole one; those that follow are glances. A host that does not answer is asked less
    and less often, up to every two minutes.
    """

    def __init__(self, session: Session, changed: Callable[[str], None]) -> None:
        self.session = session
        self.changed = changed
        self.focused = True
        self.held: Mapping[str, str] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(AT_ONCE)

    @property
    def every_s(self) -> float:
        chosen = self.session.preferences
        return chosen.poll_s if self.focused else chosen.poll_unfocused_s

    def cost(self) -> str:
        """What looking costs the hosts, for the screen."""
        from console.facts.glance import COST

        return f"every {self.every_s:g} s: {COST}"

    async def run(self) -> None:
        """Until cancelled. Only reads, so it may be cancelled at any time."""
        from console.tui.held import measured_now

        try:
            while True:
                self.held = await asyncio.to_thread(measured_now, self.session)
                while self.due():
                    await self.session.clock.sleep(BREATH_S)
                await self.session.clock.sleep(TICK_S)
        finally:
            for task in self._tasks.values():
                task.cancel()

    def due(self) -> bool:
        """Begin a look at targets whose time has come, not at hundreds in one go; whether more are due."""
        begun, now = 0, self.session.clock.monotonic()
        for name, target in self.session.targets.items():
            seen = self.session.seen.get(name) or Seen()
            held = self.held.get(name, "")
            if held != seen.held:
                self._keep(target, replace(seen, held=held))
            elif not held and not seen.reading and now >= seen.next_at:
                if begun == BEGUN_AT_ONCE:
                    return True
                self.look(target)
                begun += 1
        return False

    def look(self, target: Target, *, whole: bool = False) -> None:
        """Look at it now; `whole`: as a plan would, not a glance."""
        seen = self.seen(target)
        if seen.reading or self.held.get(target.name):
            return
        self._keep(target, replace(seen, reading=True))
        task = asyncio.create_task(self._look(target, seen, whole=whole or seen.facts is None))
        self._tasks[target.name] = task
        task.add_done_callback(lambda done: self._tasks.pop(target.name, None) if done is task else None)

    def look_at_all(self) -> None:
        for target in self.session.targets.values():
            self.look(target, whole=True)

    async def settled(self) -> None:
        """Until nothing is being looked at; for tests."""
        while self._tasks:
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def seen(self, target: Target) -> Seen:
        return self.session.seen.get(target.name, Seen())

    async def _look(self, target: Target, before: Seen, *, whole: bool) -> None:
        looks = self.session.looks
        try:
            async with self._room:
                facts = await (looks.facts(target) if whole else looks.glance(target, before.facts))
        except ConsoleError as error:
            self._failed(target, before, error)
        except asyncio.CancelledError:
            self.session.seen[target.name] = before
            raise
        except Exception as error:  # noqa: BLE001 - one target's trouble must not end the screen for the others
            self._failed(target, before, InternalError(f"{type(error).__name__}: {error}", where=target.name))
        else:
            now = self.session.clock.monotonic()
            self._keep(target, Seen(facts=facts, at=now, next_at=now + self.every_s))

    def _failed(self, target: Target, before: Seen, error: ConsoleError) -> None:
        failures = before.failures + 1
        wait_s = min(SLOWEST_S, self.every_s * 2 ** min(failures - 1, 8))
        now = self.session.clock.monotonic()
        self._keep(target, replace(before, error=error, reading=False, failures=failures, next_at=now + wait_s))

    def _keep(self, target: Target, seen: Seen) -> None:
        self.session.seen[target.name] = seen
        self.changed(target.name)
