"""What all screens share: the inventory, how hosts are looked at, how a run is started, and what was seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from console.clock import Clock, SystemClock, stamp
from console.errors import ConsoleError
from console.remote.answers import Answers
from console.secrets import Redactor
from console.tui.preferences import Preferences
from console.untrusted import clean
from console.views.plain import to_ascii

if TYPE_CHECKING:
    from console.facts.watch import Watch
    from console.planning.groups import Groups
    from console.planning.preview import Preview
    from console.remote.ssh import Connections
    from console.runs.listing import RunSummary
    from console.schema.facts import Facts
    from console.schema.hosts import Inventory, Target
    from console.schema.runbook import Runbook, Value
    from console.tui.start import Started, Wish

NEW = "(new)"


class Looks(Protocol):
    """How targets are read; `planning.preview.Looking` in life."""

    async def facts(self, target: Target) -> Facts: ...

    async def glance(self, target: Target, before: Facts | None = None) -> Facts: ...

    async def journal(self, target: Target, cursor: str = "") -> Watch: ...

    async def preview(
        self,
        runbook: Runbook,
        target: Target,
        variables: Mapping[str, Value],
        *,
        accept_pending: bool = False,
        groups: Groups | None = None,
    ) -> Preview: ...


@dataclass
class World:
    """What can be reached. `start` makes a process of its own; nothing here carries out anything.

    `launch` starts `console` with other words in the same way. `ways` are the connections that looks are made over.
    """

    inventory: Inventory
    looks: Looks
    start: Callable[[Wish], Started]
    launch: Callable[[Sequence[str]], Started] | None = None
    ways: Connections | None = None
    aclose: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True)
class Seen:
    """The last look at a target: what was read, and at which second of the session's clock; or why it was not.

    `held` says why it is not looked at now; `next_at` is when it is looked at again.
    """

    facts: Facts | None = None
    at: float = 0.0
    error: ConsoleError | None = None
    reading: bool = False
    held: str = ""
    failures: int = 0
    next_at: float = 0.0


@dataclass(frozen=True)
class Message:
    """Something that was said at the bottom of the screen, and when."""

    at: str
    severity: str
    text: str


@dataclass
class Session:
    """One life of the terminal UI. Its world is read after the first table stands; `names` are there at once.

    `verbs` are the commands of the command line.
    """

    environment: Mapping[str, str]
    redactor: Redactor
    clock: Clock = field(default_factory=SystemClock)
    preferences: Preferences = field(default_factory=Preferences)
    verbs: Mapping[str, str] = field(default_factory=dict)
    inventory_path: Path | None = None
    names: Sequence[str] = ()
    answers: Answers = field(default_factory=Answers)
    seen: dict[str, Seen] = field(default_factory=dict)
    started: list[Started] = field(default_factory=list)
    followed: set[str] = field(default_factory=set)
    messages: list[Message] = field(default_factory=list)
    found_runs: list[RunSummary] = field(default_factory=list)
    write_until: float | None = None
    touched_at: float = 0.0
    known: asyncio.Event = field(default_factory=asyncio.Event)
    _world: World | None = None
    _targets: tuple[Inventory, Mapping[str, Target]] | None = None

    def know(self, world: World) -> Session:
        """From now on everything can be done; who waits for `known` goes on."""
        self._world = world
        self.inventory_path = world.inventory.path
        self.known.set()
        return self

    @property
    def world(self) -> World:
        assert self._world is not None, "nothing is known yet: wait for `known`"
        return self._world

    @property
    def inventory(self) -> Inventory:
        return self.world.inventory

    @property
    def looks(self) -> Looks:
        return self.world.looks

    @property
    def base(self) -> Path:
        """Where the run directories are."""
        from console.runs.directory import base_folder

        return base_folder(self.environment)

    @property
    def colour(self) -> bool:
        return "NO_COLOR" not in self.environment

    def safe(self, text: str) -> str:
        """Text as it may be shown: secrets masked, controls made visible."""
        return self.plain(clean(self.redactor.text(text)))

    def plain(self, text: str) -> str:
        """In the characters that this terminal is said to have."""
        return to_ascii(text) if self.preferences.ascii else text

    def target(self, name: str) -> Target | None:
        return self.targets.get(name)

    @property
    def targets(self) -> Mapping[str, Target]:
        """By name, in the inventory's order; made once for an inventory, because screens ask for it at every key."""
        inventory = self.inventory
        if self._targets is None or self._targets[0] is not inventory:
            self._targets = (inventory, {target.name: target for target in inventory.targets()})
        return self._targets[1]

    # -- writing ----------------------------------------------------------------------------------------------------

    @property
    def may_write(self) -> bool:
        return self.write_until is not None and self.clock.monotonic() < self.write_until

    def unlock(self) -> None:
        self.write_until = self.clock.monotonic() + self.preferences.relock_s

    def lock(self) -> None:
        self.write_until = None

    def touch(self) -> None:
        """Somebody is there: the time until writing is locked again starts anew."""
        self.touched_at = self.clock.monotonic()
        if self.may_write:
            self.unlock()

    @property
    def silent_s(self) -> float:
        """Seconds since the last key."""
        return self.clock.monotonic() - self.touched_at

    def badge(self) -> str:
        """`[RO]`, or how long writing stays on."""
        if not self.may_write or self.write_until is None:
            return "[RO]"
        left_s = self.write_until - self.clock.monotonic()
        return f"[WRITE {max(1, round(left_s / 60))}m]"

    # -- runs -------------------------------------------------------------------------------------------------------

    def runs(self) -> list[RunSummary]:
        from console.runs.listing import list_runs

        self.found_runs = list_runs(self.base)
        return self.found_runs

    def alive(self) -> list[str]:
        """The runs this session started or looked at that go on now; one that has not said its id yet is `(new)`."""
        names = self.followed | {started.run_id for started in self.started if started.run_id}
        if not names and not self.started:
            return []
        from console.runs.directory import RunDirectory

        new = [NEW for started in self.started if not started.run_id and started.exit_code is None]
        return sorted(name for name in names if RunDirectory(self.base / name).alive()) + new

    def look_at_started(self) -> None:
        """Learn ids and reap what has ended, whichever screen is shown."""
        for started in self.started:
            started.look()

    def note(self, severity: str, text: str) -> None:
        """Keep what was said: what passes at the bottom is gone in seconds."""
        self.messages.append(Message(stamp(self.clock.now()), severity, text))
        del self.messages[:-500]

    async def close(self) -> None:
        """Let go of everything; what was started goes on."""
        self.look_at_started()
        for started in self.started:
            started.close()
        if self._world is not None and self._world.aclose is not None:
            await self._world.aclose()
