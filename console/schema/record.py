"""record.json: what happened to one target in one run, complete and free of secrets."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from console.schema.capacity import Judgement
from console.schema.cells import Cell
from console.schema.events import ConclusionMade, FindingMade, LevelsRead, LogLine
from console.schema.loads import Level
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


class ObservedSetting(Read):
    """A setting found other than it was recorded. `how`: by whom, as far as it shows; between `since` and `until`."""

    setting: str
    before: str | None
    after: str | None
    how: str = ""
    since: str = ""
    until: str = ""
    path: str = ""


class Accelerator(Read):
    """GPUs of one kind. The clock is the lowest that one of them ran at, MHz; None where nothing says."""

    model: str
    count: int
    memory_mib: int = 0
    driver: str = ""
    clock_mhz: int | None = None


class Stack(Read):
    """What ran: everything that would have to be the same for two figures to be comparable.

    `settings` are engine-neutral names with the text in force, of the running process where there is one. `id` is a
    digest over all of it but the places (`argv`), so that equal stacks are found by equal ids. Shape after llm-d's
    benchmark report (`stack[]`, `cfg_id`).
    """

    id: str = ""
    engine: str = ""
    version: str = ""
    image: str = ""
    model: str = ""
    model_path: str = ""
    model_revision: str = ""
    precision: dict[str, str] = Field(default_factory=dict)
    parallelism: dict[str, str] = Field(default_factory=dict)
    speculation: dict[str, str] = Field(default_factory=dict)
    scheduler: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, str] = Field(default_factory=dict)
    environment: dict[str, str] = Field(default_factory=dict)
    argv: tuple[str, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    kernel: str = ""
    pool_tokens: int | None = None


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
    runbook_text: str = ""
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
    levels_before: tuple[LevelsRead, ...] = ()
    observed: tuple[ObservedSetting, ...] = ()
    outage_s: float | None = None  # from the restart until it served, as its steps took
    router: str = ""  # the group in front of it and how it shares requests out; empty: none
    stack_before: Stack | None = None
    stack_after: Stack | None = None
    invocation_before: str = ""
    invocation_after: str = ""
    digests_before: dict[str, str] = Field(default_factory=dict)  # of every file that decides the unit, by path
    digests_after: dict[str, str] = Field(default_factory=dict)
    findings: tuple[FindingMade, ...] = ()
    cells: tuple[Cell, ...] = ()
    loads: tuple[Level, ...] = ()
    conclusions: tuple[ConclusionMade, ...] = ()
    log: tuple[LogLine, ...] = ()
    facts_before: dict[str, Any] = Field(default_factory=dict)
    facts_after: dict[str, Any] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    answers: dict[str, Any] = Field(default_factory=dict)
    capacity: Judgement | None = None  # will it fit, as it was judged before the first change
    also_activates: tuple[str, ...] = ()
    diff: str = ""
    argv_before: tuple[str, ...] = ()
    argv_after: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    simulated: bool = False
    speed: float = 1.0
    console_version: str = ""
