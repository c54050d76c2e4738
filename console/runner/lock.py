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
        self.hold: LockHold | None = None
        self.ours = False  # it was held once

    @property
    def held(self) -> bool:
        return self.hold is not None and not self.hold.lost.is_set()

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
        self.hold = await self.remote.hold_lock(self.context.run, document, again=again)
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
        if self.hold is None:
            return
        hold, self.hold = self.hold, None
        try:
            await hold.release()
        except ConsoleError as error:
            # It dies with the connection anyway; the host frees it within the heartbeat's limit.
            self._say("released with the connection", error.message)
            return
        self._say("released", "")

    def _say(self, state: str, holder: str) -> None:
        self.context.emit(LockChanged(target=self.remote.target.name, state=state, holder=holder))
