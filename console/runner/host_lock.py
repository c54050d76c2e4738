"""The host's lock, held from the first written file to the reload: a reload of another run would load half of it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from console.errors import ConsoleError, LockHeldError
from console.remote.session import LockHold
from console.schema.change import Change, FileChange, ReloadChange
from console.schema.events import StepProgress

if TYPE_CHECKING:
    from console.runner.target_run import TargetRun

# Another run on the host needs a moment from its write to its reload; one that needs longer is in trouble.
PATIENCE_S = 60.0
POLL_S = 0.5


class HostLock:
    """Of one target's run; taken when a change needs it, given back after the reload or at the run's end."""

    def __init__(self) -> None:
        self.holds: dict[str, LockHold] = {}  # by host: two parts of a pair may lie on one

    def held_on(self, host: str) -> bool:
        hold = self.holds.get(host)
        return hold is not None and not hold.lost.is_set()

    async def before(self, run: TargetRun, change: Change) -> None:
        """Take it where the change writes a file or reloads. Raises LockHeldError after a while, or ConnectError."""
        if isinstance(change, FileChange | ReloadChange):
            for node in [change.node] if isinstance(change, FileChange) else ["", *change.nodes]:
                await self._take(run, change, node)

    async def _take(self, run: TargetRun, change: Change, node: str) -> None:
        assert run.lock is not None
        remote, options = run.lock.remote.at(node), run.context.options
        if self.held_on(host := remote.target.host_name):
            return
        document = {"operator": options.operator, "from_host": options.from_host, "reason": options.reason}
        deadline = run.context.clock.monotonic() + PATIENCE_S
        while True:
            try:
                self.holds[host] = await remote.hold_lock(run.context.run, document, whole_host=True)
            except LockHeldError as error:
                if run.context.clock.monotonic() >= deadline:
                    raise
                message = f"waits for another run that writes on this host: {error.message}"
                run.context.emit(StepProgress(target=run.target.name, step=change.step, message=message))
                await run.context.clock.sleep(POLL_S)
            else:
                return

    async def after(self, change: Change) -> None:
        """Give it back where systemd now has what is on disk."""
        if isinstance(change, ReloadChange) or (isinstance(change, FileChange) and not change.needs_reload):
            await self.release()

    async def release(self) -> None:
        """Also of a lost one; the host frees it by itself where nobody answers."""
        holds, self.holds = self.holds, {}
        for hold in holds.values():
            with suppress(ConsoleError):
                await hold.release()
