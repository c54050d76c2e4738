"""What the targets of one run share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from console.clock import Clock
from console.planning.consent import NONE, Consent
from console.runner.abort import Abort
from console.runner.ask import Desk
from console.runner.doors import Doors
from console.runs.directory import RunDirectory
from console.runs.log import EventLog
from console.schema.events import ConnectionChanged, Event
from console.secrets import Redactor
from console.steps.together import Together

OnAbort = Literal["auto", "leave", "rollback"]


@dataclass(frozen=True)
class Options:
    """What the operator said on the command line."""

    operator: str
    from_host: str
    yes: bool = False
    terminal: bool = False
    reason: str = ""
    ticket: str = ""
    note: str = ""
    consent: Consent = NONE
    on_abort: OnAbort = "auto"
    commit: bool = True
    parent: str = ""
    root: str = ""  # of a resume or rollback: the run whose ledger entry holds the backups
    purpose: Literal["run", "resume", "rollback"] = "run"
    taken_over_from: str = ""  # who began what this run finishes, where that was somebody else


@dataclass
class RunContext:
    """One run: its id, its directory and log, its clock and its person."""

    run: str
    directory: RunDirectory
    log: EventLog
    redactor: Redactor
    clock: Clock
    desk: Desk
    abort: Abort
    options: Options
    routers: Mapping[str, str] = field(default_factory=dict)  # what stands in front of each target, for its record
    doors: Doors = field(default_factory=Doors)
    extended_s: float = 0.0
    messages: list[str] = field(default_factory=list)
    results_path: Path | None = None
    together: Together = field(default_factory=Together)

    def connection_said(self, target: str) -> Callable[[str, str], None]:
        """A callback that puts what happens to a target's connection into the log."""

        def say(state: str, message: str) -> None:
            auth = message if state == "connected" else ""
            self.emit(ConnectionChanged(target=target, state=state, auth=auth, message="" if auth else message))

        return say

    def emit(self, event: Event) -> Event:
        """Put an event into the log, from where every front reads it."""
        return self.log.append(event)
