"""The unit's lock on the host, held for as long as this run may change something."""

from __future__ import annotations

from console.errors import ConsoleError, LockHeldError
from console.remote.session import LockHold, Remote
from console.runner.context import RunContext
from console.schema.events import LockChanged


class UnitLock:
    """Taken before the first change, taken again after a lost connection, released at the end."""

    def __init__(self, context: RunContext, remote: Remote, runbook: str) -> None:
        self.context = context
        self.remote = remote
        self.runbook = runbook
        self.holds: dict[str, LockHold] = {}  # by target; in each place where the engine runs
        self.ours = False  # it was held once

    @property
    def held(self) -> bool:
        return all(self._held_on(remote) for remote in self.remote.everywhere)

    def _held_on(self, remote: Remote) -> bool:
        hold = self.holds.get(remote.target.name)
        return hold is not None and not hold.lost.is_set()

    async def take(self, *, again: bool = False) -> None:
        """Raises LockHeldError naming the holder; `again`: also who had it since this run lost it."""
        options = self.context.options
        document = {
            "run": self.context.run,
            "operator": options.operator,
            "from_host": options.from_host,
            "runbook": self.runbook,
            "reason": options.reason,
        }
        # The serving host first, always: two runs on one engine meet there and nowhere else.
        for remote in self.remote.everywhere:
            if not self._held_on(remote):
                self.holds[remote.target.name] = await remote.hold_lock(self.context.run, document, again=again)
        self.ours = True
        self._say("held", self.context.run)

    async def retake(self) -> None:
        """After a reconnect: the lock died with the old connection. Raises LockHeldError when somebody came in."""
        if self.held:
            return
        self._say("lost", "")
        try:
            await self.take(again=self.ours)
        except LockHeldError as error:
            self._say("taken by another run", error.message)
            raise

    async def release(self) -> None:
        if not self.holds:
            return
        holds, self.holds = self.holds, {}
        trouble = ""
        for hold in reversed(holds.values()):
            try:
                await hold.release()
            except ConsoleError as error:
                # It dies with the connection anyway; the host frees it within the heartbeat's limit.
                trouble = error.message
        self._say("released with the connection" if trouble else "released", trouble)

    def _say(self, state: str, holder: str) -> None:
        self.context.emit(LockChanged(target=self.remote.target.name, state=state, holder=holder))
