"""The dead-man's switch on the host: armed before the first write, pushed back while we live, called off once proven.

The host itself puts the files back when the run's console is silent for longer than `guard` and nothing serves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from console.changes.no_room import way_out
from console.errors import ConsoleError, RefusedError
from console.remote.session import Remote
from console.runner.context import RunContext
from console.runner.ledger import encode
from console.schema.events import GuardChanged
from console.schema.plan import Plan
from console.untrusted import one_line

# Pushed back so often in the time it waits that two lost pushes do not let it fire.
PUSHES = 3
# What is said of a guard that may still fire.
ARMED = ("armed", "still armed", "left armed")


class Guard:
    """The guard of one ledger entry, which is this run's or that of the run it goes on with."""

    def __init__(self, context: RunContext, remote: Remote, plan: Plan, entry_run: str) -> None:
        self.context = context
        self.remote = remote
        self.plan = plan
        self.entry_run = entry_run
        self.armed = False
        self.asked = False  # of the host, which may have done it, or half of it, without an answer
        self._pushing: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        return name_of(self.plan, self.entry_run)

    async def arm(self) -> None:
        """Raises RefusedError when the host cannot keep one: then nothing may be changed under its promise."""
        target, seconds = self.plan.target, self.plan.guard_s
        if not seconds:
            return
        if target.simulated:
            self._say("not armed", message="a simulated host keeps no guard")
            return
        self.asked = True
        entry = f"{target.host.state_folder}/{target.service.unit}/{self.entry_run}"
        output = await self.remote.act(
            "act_guard.sh", entry, self.name, f"{seconds:.3f}", encode(self._arguments()), lock=self.context.run
        )
        shown = properties(output.text("guard"))
        if output.exit_status != 0 or shown.get("ActiveState") != "active":
            said = one_line(output.text("refused") or output.complaint, 300) or shown.get("ActiveState", "no answer")
            await self.disarm()  # as far as it came; nothing of it stays
            raise RefusedError(
                f"the guard cannot be armed: {said}; nothing was changed",
                where=target.name,
                hint=way_out(said) or "systemd timers are needed; a runbook without guard = … arms none",
            )
        self.adopt(f"the host puts the change back after {seconds:g} s of silence when nothing serves")

    def _arguments(self) -> str:
        """guard.args: one KEY=VALUE a line; guard.sh reads nothing else."""
        target = self.plan.target
        values: Mapping[str, object] = {
            "unit": target.service.unit,
            "run": self.entry_run,
            "port": target.service.port,
            "url": target.service.url.rstrip("/"),
            "runtime": target.host.runtime_folder,
            "allowed": int(self.plan.load_allowed_s),
            "judge": self.plan.guard_if,
            "name": self.name,
        }
        return "".join(f"{key}={value}\n" for key, value in values.items())

    def adopt(self, message: str) -> None:
        """It is armed: from now on it is pushed back while this run lives."""
        self.armed = True
        self._say("armed", message=message)
        self._pushing = asyncio.ensure_future(self._push())

    async def _push(self) -> None:
        seconds = self.plan.guard_s or 60.0
        while self.armed:
            await asyncio.sleep(seconds / PUSHES)
            try:
                await self.remote.act("act_guard_push.sh", self.name, lock=self.context.run)
            except ConsoleError:
                continue  # without a connection or the lock it is for the guard to judge what becomes of us

    async def disarm(self) -> None:
        """Call it off and see it gone. A guard that cannot be called off is told; it finds a serving service."""
        self.stop_pushing()
        if not (self.armed or self.asked):
            return
        if problem := await called_off(self.remote, self.name, self.context.run):
            self.armed = True  # as far as anybody knows
            self._say("still armed", message=problem)
            return
        self.armed = self.asked = False
        self._say("disarmed", message="")

    def stop_pushing(self) -> None:
        if self._pushing is not None:
            self._pushing.cancel()
            self._pushing = None

    def leave(self) -> None:
        """The run ends and the guard stays: say when it looks."""
        self.stop_pushing()
        if self.armed:
            when = f"in at most {self.plan.guard_s:g} s" if self.plan.guard_s else "when its time is over"
            self._say("left armed", message=f"the host looks {when}: serving is left, else put back")

    def _say(self, state: str, *, message: str) -> None:
        self.context.emit(
            GuardChanged(target=self.remote.target.name, state=state, run=self.entry_run, message=message)
        )


def name_of(plan: Plan, entry_run: str) -> str:
    """What the timer on the host is called."""
    return f"console-guard-{plan.target.service.unit.removesuffix('.service')}-{entry_run}"


async def called_off(remote: Remote, name: str, run: str) -> str:
    """Call a guard off under that run's lock and see it gone; returns what is wrong with that. Never raises ours."""
    try:
        output = await remote.act("act_guard_off.sh", name, lock=run)
    except ConsoleError as error:
        return f"it could not be called off: {error.message}"
    shown = properties(output.text("guard"))
    if output.exit_status != 0 or shown.get("ActiveState") in ("active", "activating"):
        return f"it could not be called off: {one_line(output.text('refused') or output.complaint, 200)}"
    return ""


def properties(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            found[name] = value
    return found
