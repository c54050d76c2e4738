"""record.json: what happened to one target in one run, complete and free of secrets."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from console.schema.events import ConclusionMade, FindingMade, LevelsRead, LogLine
from console.schema.names import Read
from console.schema.outcome import Outcome


class RecordStep(Read):
    id: str
    uses: str
    title: str = ""
    outcome: str
    message: str = ""
    started_at: str = ""
    duration_s: float = 0.0
    error: dict[str, Any] | None = None


class RecordChange(Read):
    """`state`: made · undone · not made (intended, and it never happened) · unknown."""

    id: str
    kind: str
    step: str
    summary: str
    state: str
    before: dict[str, Any] = Field(default_factory=dict)
    after: dict[str, Any] = Field(default_factory=dict)
    backup: str = ""


class RecordSetting(Read):
    """A setting the run was asked for. `made`: this run wrote it (whether or not it was put back later)."""

    setting: str
    before: str | None
    after: str | None
    path: str = ""
    made: bool = False

    @property
    def already(self) -> bool:
        """Asked for, and found so."""
        return not self.made and self.before == self.after

    @property
    def sentence(self) -> str:
        before, after = ("absent" if value is None else value for value in (self.before, self.after))
        return f"{self.setting} {before} -> {after}"


class Record(Read):
    """One target's run."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    run: str
    parent: str = ""
    purpose: str = "run"
    target: str
    unit: str = ""
    engine: str = ""
    runbook: str
    runbook_sha256: str = ""
    plan_sha256: str = ""
    variables: dict[str, Any] = Field(default_factory=dict)
    operator: str = ""
    taken_over_from: str = ""
    operator_auth: str = ""
    from_host: str = ""
    reason: str = ""
    ticket: str = ""
    note: str = ""
    started_at: str = ""
    finished_at: str = ""
    duration_s: float = 0.0
    outcome: Outcome
    exit_code: int | None = None
    message: str = ""
    live: bool | None = None
    settings: tuple[RecordSetting, ...] = ()
    changes: tuple[RecordChange, ...] = ()
    steps: tuple[RecordStep, ...] = ()
    levels: tuple[LevelsRead, ...] = ()
    findings: tuple[FindingMade, ...] = ()
    conclusions: tuple[ConclusionMade, ...] = ()
    log: tuple[LogLine, ...] = ()
    facts_before: dict[str, Any] = Field(default_factory=dict)
    facts_after: dict[str, Any] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    answers: dict[str, Any] = Field(default_factory=dict)
    also_activates: tuple[str, ...] = ()
    diff: str = ""
    argv_before: tuple[str, ...] = ()
    argv_after: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    simulated: bool = False
    speed: float = 1.0
    console_version: str = ""
