"""Events: what a run says while it goes on, one JSON line each. Everything else reads them.

Readers ignore unknown types and fields; fields are added, never renamed.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from console.schema.capacity import CapacityReport
from console.schema.cells import Cell
from console.schema.change import Change
from console.schema.loads import Level
from console.schema.names import Read
from console.schema.outcome import StepOutcome


class Event(Read):
    """Common fields. `seq` counts from 1 within a run; `ts` is RFC 3339 in UTC."""

    type: ClassVar[str] = ""
    v: int = 1
    seq: int = 0
    ts: str = ""
    run: str = ""
    target: str = ""

    def line(self) -> dict[str, Any]:
        """The event as a JSON object, `type` included."""
        body = self.model_dump(mode="json", exclude={"v", "seq", "ts", "run", "target"})
        head = {"v": self.v, "seq": self.seq, "ts": self.ts, "run": self.run, "target": self.target, "type": self.type}
        return head | body


class RunStarted(Event):
    type: ClassVar[str] = "run.started"
    runbook: str
    title: str = ""
    runbook_sha256: str = ""
    plan_sha256: str = ""
    parent: str = ""
    root: str = ""  # the run whose changes this one goes on with, and whose ledger entry holds the backups
    purpose: str = "run"  # run · resume · rollback
    targets: tuple[str, ...] = ()
    vars: dict[str, Any] = Field(default_factory=dict)
    operator: str = ""
    taken_over_from: str = ""  # who began what this run finishes, where that was somebody else
    from_host: str = ""
    reason: str = ""
    ticket: str = ""
    note: str = ""
    temporary: str = ""  # why a file that something else writes was edited: open until its source says the same
    until: str = ""
    on_abort: str = "auto"
    console_version: str = ""
    pid: int = 0
    results_path: str = ""
    push: str = "auto"


class RunFinished(Event):
    type: ClassVar[str] = "run.finished"
    exit_code: int
    outcomes: dict[str, str] = Field(default_factory=dict)
    records: dict[str, str] = Field(default_factory=dict)
    commits: dict[str, str] = Field(default_factory=dict)
    message: str = ""


class TargetStarted(Event):
    type: ClassVar[str] = "target.started"
    unit: str = ""
    engine: str = ""
    router: str = ""  # the group in front of it; empty: none


class TargetFinished(Event):
    type: ClassVar[str] = "target.finished"
    outcome: str
    exit_code: int | None = None
    duration_s: float = 0.0
    live: bool | None = None  # applied-unverified: a process runs it, or it is on disk only
    message: str = ""
    next: tuple[str, ...] = ()  # commands to go on, with this tool and without it


class WaveStarted(Event):
    type: ClassVar[str] = "wave.started"
    index: int
    targets: tuple[str, ...] = ()


class WaveFinished(Event):
    type: ClassVar[str] = "wave.finished"
    index: int
    targets: tuple[str, ...] = ()
    verdict: str = ""


class FactsRead(Event):
    type: ClassVar[str] = "facts.read"
    when: str  # plan · before · after
    facts: dict[str, Any] = Field(default_factory=dict)


class PlanMade(Event):
    """The plan as it will be carried out; sent once a target, before the question."""

    type: ClassVar[str] = "plan.made"
    plan_sha256: str
    settings: tuple[str, ...] = ()  # "context_length 32768 -> 200000"
    nothing_to_do: bool = False
    steps: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    answers: dict[str, Any] = Field(default_factory=dict)
    capacity: dict[str, Any] | None = None  # will it fit: the judgement, with its arithmetic


class LevelsRead(Event):
    type: ClassVar[str] = "levels.read"
    setting: str
    disk: str | None = None
    loaded: str | None = None
    running: str | None = None
    serving: str | None = None
    reasons: dict[str, str] = Field(default_factory=dict)
    pool_tokens: int | None = None
    agree: bool = False
    part: str = ""  # of a prefill/decode pair: the other part whose levels these are

    @property
    def named(self) -> str:
        return f"{self.setting} on {self.part}" if self.part else self.setting


class DriftObserved(Event):
    """A setting that is not as it was recorded last: found by looking, made by somebody else between two times."""

    type: ClassVar[str] = "drift.observed"
    setting: str
    before: str | None = None
    after: str | None = None
    how: str = ""
    since: str = ""
    until: str = ""
    path: str = ""


class EditPlanned(Event):
    type: ClassVar[str] = "edit.planned"
    step: str
    file: str
    setting: str
    before: str | None
    after: str
    argv_before: tuple[str, ...] = ()
    argv_after: tuple[str, ...] = ()
    also_activates: tuple[str, ...] = ()
    diff: str = ""
    sha256_before: str = ""
    sha256_after: str = ""


class StepStarted(Event):
    type: ClassVar[str] = "step.started"
    step: str
    uses: str
    index: int
    of: int
    title: str = ""
    on_abort: str = ""


class StepProgress(Event):
    type: ClassVar[str] = "step.progress"
    step: str
    phase: str = ""
    done: float | None = None
    total: float | None = None
    eta_s: float | None = None
    message: str = ""


class StepFinished(Event):
    type: ClassVar[str] = "step.finished"
    step: str
    uses: str
    outcome: StepOutcome
    message: str = ""
    duration_s: float = 0.0
    error: dict[str, Any] | None = None  # kind, exit_code


class ChangeIntended(Event):
    type: ClassVar[str] = "change.intended"
    change: Change
    step: str
    kind: str
    before: dict[str, Any] = Field(default_factory=dict)
    after: dict[str, Any] = Field(default_factory=dict)
    backup: str = ""


class ChangeMade(Event):
    type: ClassVar[str] = "change.made"
    change: Change
    step: str
    kind: str
    before: dict[str, Any] = Field(default_factory=dict)
    after: dict[str, Any] = Field(default_factory=dict)
    backup: str = ""


class ChangeUndoing(Event):
    """The change is about to be put back; `before` is what the way back starts from."""

    type: ClassVar[str] = "change.undoing"
    change: Change
    step: str
    kind: str
    before: dict[str, Any] = Field(default_factory=dict)


class ChangeUndone(Event):
    """The change is not there: it was put back, or looking showed that it never happened (`how` = "not made")."""

    type: ClassVar[str] = "change.undone"
    change: Change
    step: str
    kind: str
    before: dict[str, Any] = Field(default_factory=dict)
    after: dict[str, Any] = Field(default_factory=dict)
    how: str = ""


class UndoStarted(Event):
    """From here on the run restores the old state; `reason` says why."""

    type: ClassVar[str] = "undo.started"
    reason: str = ""


class UndoFinished(Event):
    """proven: the old state was shown to serve again (or nothing ran the new one)."""

    type: ClassVar[str] = "undo.finished"
    proven: bool
    message: str = ""


class Verified(Event):
    """The setting was proven to be served by this invocation."""

    type: ClassVar[str] = "service.verified"
    invocation_id: str = ""
    message: str = ""


class ServiceTroubled(Event):
    """What was proven does not hold any more."""

    type: ClassVar[str] = "service.troubled"
    message: str = ""


class FindingMade(Event):
    type: ClassVar[str] = "finding.made"
    name: str
    value: float | int | str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    interval: str = ""
    confidence: float | None = None
    n: int | None = None
    method: str = ""
    text_class: str = ""
    context_tokens: int | str | None = None
    source: str = ""
    flags: tuple[str, ...] = ()
    figures: dict[str, float] = Field(default_factory=dict)  # what belongs to it; a name ends in its unit: `step_ms`


class CellMeasured(Event):
    """A part of a measurement with all its requests; findings are drawn from these."""

    type: ClassVar[str] = "cell.measured"
    step: str
    cell: Cell


class LevelMeasured(Event):
    """A level of a load with all its requests."""

    type: ClassVar[str] = "level.measured"
    step: str
    level: Level


class ConclusionMade(Event):
    type: ClassVar[str] = "conclusion.made"
    kind: str  # cause · ruled_out · lever
    text: str
    gain: float | None = None
    evidence: str = ""


class CapacityJudged(Event):
    """What fits on a target as it stands: limits, calibration, and a verdict or the ladder."""

    type: ClassVar[str] = "capacity.judged"
    report: CapacityReport


class ConnectionChanged(Event):
    type: ClassVar[str] = "connection.changed"
    state: str  # connected · lost · reconnecting · closed
    auth: str = ""
    message: str = ""


class LockChanged(Event):
    type: ClassVar[str] = "lock.changed"
    state: str  # held · lost · released
    holder: str = ""


class GuardChanged(Event):
    """The dead-man's switch on the host, of ledger entry `run`."""

    type: ClassVar[str] = "guard.changed"
    state: str  # armed · not armed · disarmed · still armed · left armed · fired
    run: str = ""
    message: str = ""


class LogLine(Event):
    type: ClassVar[str] = "log.line"
    source: str = "journal"
    kind: str = ""
    value: float | int | str | None = None
    text: str = ""


class QuestionAsked(Event):
    type: ClassVar[str] = "question.asked"
    question: str
    text: str
    choices: tuple[str, ...] = ()  # none: in a person's own words, which no event repeats
    prices: dict[str, str] = Field(default_factory=dict)
    default: str = ""
    unseen: bool = False  # not to be shown while it is typed


class QuestionAnswered(Event):
    type: ClassVar[str] = "question.answered"
    question: str
    answer: str
    by: str = ""


class AbortRequested(Event):
    type: ClassVar[str] = "abort.requested"
    how: str
    choice: str = ""


class WaitExtended(Event):
    """Somebody lets the run wait longer for the service."""

    type: ClassVar[str] = "wait.extended"
    minutes: float
    by: str = ""


class RecordSaved(Event):
    type: ClassVar[str] = "record.saved"
    path: str


class RecordCommitted(Event):
    type: ClassVar[str] = "record.committed"
    path: str
    sha: str = ""
    error: str = ""


EVENT_TYPES: dict[str, type[Event]] = {
    kind.type: kind
    for kind in (
        RunStarted,
        RunFinished,
        TargetStarted,
        TargetFinished,
        WaveStarted,
        WaveFinished,
        FactsRead,
        PlanMade,
        LevelsRead,
        DriftObserved,
        EditPlanned,
        StepStarted,
        StepProgress,
        StepFinished,
        ChangeIntended,
        ChangeMade,
        ChangeUndoing,
        ChangeUndone,
        UndoStarted,
        UndoFinished,
        Verified,
        ServiceTroubled,
        FindingMade,
        CellMeasured,
        LevelMeasured,
        CapacityJudged,
        ConclusionMade,
        ConnectionChanged,
        LockChanged,
        GuardChanged,
        LogLine,
        QuestionAsked,
        QuestionAnswered,
        AbortRequested,
        WaitExtended,
        RecordSaved,
        RecordCommitted,
    )
}


def read_event(line: dict[str, Any]) -> Event | None:
    """The event of one parsed line; None for a type this version does not know. Raises pydantic's ValidationError."""
    kind = EVENT_TYPES.get(str(line.get("type")))
    return kind.model_validate(line) if kind else None
