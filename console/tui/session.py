"""What all screens share: the inventory, how hosts are looked at, how a run is started, and what was seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from console.clock import Clock, SystemClock
from console.errors import ConsoleError
from console.planning.preview import Preview
from console.runs.directory import RunDirectory, base_folder
from console.runs.listing import RunSummary, list_runs
from console.schema.facts import Facts
from console.schema.hosts import Inventory, Target
from console.schema.runbook import Runbook, Value
from console.secrets import Redactor
from console.tui.start import Started, Wish
from console.untrusted import clean

NEW = "(new)"


class Looks(Protocol):
    """How targets are read; `planning.preview.Looking` in life."""

    async def facts(self, target: Target) -> Facts: ...

    async def preview(
        self, runbook: Runbook, target: Target, variables: Mapping[str, Value], *, accept_pending: bool = False
    ) -> Preview: ...


@dataclass(frozen=True)
class Seen:
    """The last look at a target: what was read, and at which second of the session's clock; or why it was not."""

    facts: Facts | None = None
    at: float = 0.0
    error: ConsoleError | None = None
    reading: bool = False


@dataclass
class Session:
    """One life of the terminal UI. `start` makes a process of its own; nothing here carries out anything."""

    inventory: Inventory
    environment: Mapping[str, str]
    redactor: Redactor
    looks: Looks
    start: Callable[[Wish], Started]
    clock: Clock = field(default_factory=SystemClock)
    seen: dict[str, Seen] = field(default_factory=dict)
    started: list[Started] = field(default_factory=list)
    followed: set[str] = field(default_factory=set)

    @property
    def base(self) -> Path:
        """Where the run directories are."""
        return base_folder(self.environment)

    def safe(self, text: str) -> str:
        """Text as it may be shown: secrets masked, controls made visible."""
        return clean(self.redactor.text(text))

    def runs(self) -> list[RunSummary]:
        return list_runs(self.base)

    def alive(self) -> list[str]:
        """The runs this session started or looked at that go on now; one that has not said its id yet is `(new)`."""
        names = self.followed | {started.run_id for started in self.started if started.run_id}
        new = [NEW for started in self.started if not started.run_id and started.exit_code is None]
        return sorted(name for name in names if RunDirectory(self.base / name).alive()) + new

    def look_at_started(self) -> None:
        """Learn ids and reap what has ended, whichever screen is shown."""
        for started in self.started:
            started.look()
