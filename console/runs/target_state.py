"""What one target's run has come to: its steps and changes, and how that would end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from console.schema.cells import Cell
from console.schema.change import BalancerChange, Change, FileChange
from console.schema.events import (
    CellMeasured,
    ChangeIntended,
    ChangeMade,
    ChangeUndoing,
    ChangeUndone,
    ConclusionMade,
    ConnectionChanged,
    DriftObserved,
    EditPlanned,
    Event,
    FactsRead,
    FindingMade,
    GuardChanged,
    LevelMeasured,
    LevelsRead,
    LockChanged,
    LogLine,
    PlanMade,
    QuestionAnswered,
    QuestionAsked,
    RecordCommitted,
    RecordSaved,
    ServiceTroubled,
    StepFinished,
    StepProgress,
    StepStarted,
    TargetFinished,
    TargetStarted,
    UndoFinished,
    UndoStarted,
    Verified,
)
from console.schema.loads import Level
from console.schema.outcome import Ended, Ending, Outcome, StepOutcome, Undone, decide, exit_code

LOG_LINES_KEPT = 400
NOT_MADE = "not made"
# Kinds of step that change something: findings beside them are proofs of a change, not a measurement.
CHANGING_KINDS = ("unit.", "systemd.", "service.")
BEGUN_BY = (StepStarted, StepProgress, StepFinished, LockChanged, ChangeIntended, ChangeMade, UndoStarted)


@dataclass
class StepState:
    """A step, or one of the run's own phases (plan, confirm, lock, stop), whose kind has no dot.

    `undoing`: it belongs to putting back. `outcome` is None while it goes on.
    """

    id: str
    uses: str
    index: int = 0
    of: int = 0
    title: str = ""
    on_abort: str = ""
    started_at: str = ""
    outcome: StepOutcome | None = None
    message: str = ""
    duration_s: float = 0.0
    error: dict[str, Any] | None = None
    undoing: bool = False
    phase: str = ""
    done: float | None = None
    total: float | None = None
    eta_s: float | None = None
    progress_at: str = ""

    @property
    def is_phase(self) -> bool:
        return "." not in self.uses


@dataclass
class ChangeState:
    """A change and what became of it. `was_made`: it stood on the host at some time of this run.

    `intended`, `made` and `undone` are the numbers of those events, 0 while there is none. `undoing`: it was about to
    be put back, from `undo_from`, and nobody said yet whether it was.
    """

    change: Change
    step: str
    state: Literal["intended", "made", "undoing", "undone"] = "intended"
    was_made: bool = False
    intended: int = 0
    made: int = 0
    undone: int = 0
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    backup: str = ""
    how: str = ""
    undo_from: dict[str, Any] = field(default_factory=dict)


@dataclass
class TargetState:
    """One target's run so far. `begun`: more happened than looking and planning that went well."""

    name: str
    purpose: str = "run"
    begun: bool = False
    unit: str = ""
    engine: str = ""
    started_at: str = ""
    finished: TargetFinished | None = None
    plan: PlanMade | None = None
    steps: dict[str, StepState] = field(default_factory=dict)
    changes: dict[str, ChangeState] = field(default_factory=dict)
    edits: list[EditPlanned] = field(default_factory=list)
    levels: dict[str, LevelsRead] = field(default_factory=dict)  # as read last, by setting, and part
    levels_before: dict[str, LevelsRead] = field(default_factory=dict)  # as read first
    observed: list[DriftObserved] = field(default_factory=list)
    router: str = ""
    findings: list[FindingMade] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    loads: list[Level] = field(default_factory=list)
    conclusions: list[ConclusionMade] = field(default_factory=list)
    log: list[LogLine] = field(default_factory=list)  # classified lines, the newest
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)  # by when: plan, before, after
    question: QuestionAsked | None = None
    connection: ConnectionChanged | None = None
    auth: str = ""
    lock: LockChanged | None = None
    guard: GuardChanged | None = None
    verified: Verified | None = None
    troubled: ServiceTroubled | None = None  # what came after the proof and takes it back
    undo_started: UndoStarted | None = None
    undo_finished: UndoFinished | None = None
    record: RecordSaved | None = None
    committed: RecordCommitted | None = None
    last_seq: int = 0
    last_at: str = ""

    def current_step(self) -> StepState | None:
        """The step that goes on now."""
        return next((step for step in reversed(self.steps.values()) if step.outcome is None), None)

    @property
    def undoing(self) -> bool:
        """Whether the old state is being put back now, or that was not ended."""
        return self.undo_started is not None and self.undo_finished is None

    @property
    def certain(self) -> bool:
        """Whether it is known of every change if it happened."""
        return all(change.state != "intended" for change in self.changes.values())

    @property
    def live(self) -> bool:
        """Whether a process runs what the files say since this run wrote them."""
        written = max((c.made for c in self._made() if isinstance(c.change, FileChange)), default=0)
        if not written:
            return bool(self._made())
        restarted = max((c.made for c in self._made() if c.change.kind == "restart"), default=0)
        return max(restarted, self._proof()) > written or self._seen_running(since=written)

    @property
    def changed(self) -> bool:
        """Whether a change was made and not put back before a process ran it.

        A resume that finds everything made already proves its parent's change: that change is what it is about.
        """
        if self.purpose == "resume" and self.verified is not None and self.plan is not None and self.plan.settings:
            return True
        return any(self._counts(change) for change in self.changes.values())

    @property
    def proven(self) -> bool:
        """Whether it was shown to serve after the last change."""
        # Who is sent requests changes nothing of what serves them.
        changes = [c for c in self.changes.values() if not isinstance(c.change, BalancerChange)]
        last = max((max(c.intended, c.made) for c in changes), default=0)
        if self.purpose == "rollback":
            last = max([last, *(c.undone for c in changes)])
            if self.undo_finished is not None and self.undo_finished.proven:
                return self.undo_finished.seq > last
        return self._proof() > last

    @property
    def undone(self) -> Undone:
        """How far the run has put its own changes back."""
        if self.undo_started is None:
            return "no"
        if self.undo_finished is None or not self.undo_finished.proven:
            return "unfinished"
        # A run of rollback undoes another run's changes: that is its work, not its failure.
        return "proven" if self.changed and self.purpose != "rollback" else "no"

    @property
    def measured(self) -> bool:
        """Whether a run that changes nothing by its kind made findings."""
        kinds = [step.uses for step in self.steps.values()]
        return bool(self.findings) and not any(kind.startswith(CHANGING_KINDS) for kind in kinds)

    @property
    def ended(self) -> Ended:
        """The first step that did not go well decides; a run cut off before its last step did not go well."""
        for step in self.steps.values():
            if step.undoing or _went_well(step):
                continue
            return "aborted" if step.outcome == "aborted" else "failed"
        if self.purpose == "rollback" and self.undo_finished is not None and self.undo_finished.proven:
            return "done"
        own = [step for step in self.steps.values() if not step.is_phase and not step.undoing]
        of = max([len(self.plan.steps) if self.plan else 0, *(step.of for step in own)])
        return "done" if of and sum(step.outcome is not None for step in own) >= of else "failed"

    @property
    def error_exit(self) -> int:
        """The exit code of the error that ended it; 1 where it had none of its own."""
        for step in self.steps.values():
            if not step.undoing and not _went_well(step) and step.error:
                code = step.error.get("exit_code")
                return code if isinstance(code, int) else 1
        return 1

    def ending(self) -> Ending:
        """What schema.outcome decides on, from the events alone."""
        return Ending(
            begun=self.begun,
            certain=self.certain,
            changed=self.changed,
            live=self.live,
            proven=self.proven,
            undone=self.undone,
            measured=self.measured,
            ended=self.ended,
        )

    @property
    def outcome(self) -> Outcome:
        """As the run said at its end; before that, as far as the events prove."""
        if self.finished is not None:
            try:
                return Outcome(self.finished.outcome)
            except ValueError:
                return Outcome.UNKNOWN  # a word of a newer version
        return decide(self.ending())

    @property
    def exit_code(self) -> int | None:
        if self.finished is not None:
            return self.finished.exit_code
        return exit_code(self.outcome, self.error_exit)

    def _made(self) -> list[ChangeState]:
        return [change for change in self.changes.values() if change.was_made]

    @property
    def left_out(self) -> BalancerChange | None:
        """The change that took the target out of its balancer, while nothing has put it in again."""
        out: BalancerChange | None = None
        moves = [c for c in self.changes.values() if isinstance(c.change, BalancerChange)]
        for move in sorted(moves, key=lambda c: max(c.intended, c.made, c.undone)):
            assert isinstance(move.change, BalancerChange)
            if move.change.way == "out" and move.how != NOT_MADE and move.state != "undone":
                out = move.change
            elif move.change.way == "in" and move.state == "made":
                out = None
        return out

    def _counts(self, change: ChangeState) -> bool:
        if not change.was_made:
            return False
        if isinstance(change.change, BalancerChange):
            return self.left_out is not None
        if change.change.kind == "reload":
            # A reload goes with the files it loads; by itself it is what changed.
            if any(isinstance(other.change, FileChange) and other.was_made for other in self.changes.values()):
                return False
            return change.state in ("made", "undoing") or self.purpose == "rollback"
        if change.state in ("made", "undoing") or change.change.kind == "restart" or self.purpose == "rollback":
            return True
        restarts = (other.made for other in self._made() if other.change.kind == "restart")
        return any(change.made < restart < change.undone for restart in restarts)

    def _proof(self) -> int:
        """The number of the event that proved the new state, 0 without one."""
        proof = self.verified.seq if self.verified is not None else 0
        return 0 if self.troubled is not None and self.troubled.seq > proof else proof

    def _seen_running(self, since: int) -> bool:
        """Whether the running process was seen with every value that this run wrote."""
        wanted = {edit.setting: edit.after for edit in self.edits}
        seen = [self.levels[name] for name in wanted if name in self.levels]
        return (
            bool(wanted)
            and len(seen) == len(wanted)
            and all(level.seq > since and level.running == wanted[level.setting] for level in seen)
        )

    def apply(self, event: Event) -> None:
        """Take the next event of this target."""
        self.last_seq, self.last_at = event.seq, event.ts
        # A refusal at planning is the end of a step; a target that was only planned waits for its turn.
        self.begun = self.begun or isinstance(event, BEGUN_BY)
        match event:
            case TargetStarted():
                self.unit, self.engine, self.started_at = event.unit, event.engine, event.ts
                self.router = event.router
            case TargetFinished():
                self.finished = event
                self.question = None
            case StepStarted() | StepProgress() | StepFinished():
                self._add_step(event)
            case ChangeIntended() | ChangeMade() | ChangeUndoing() | ChangeUndone():
                self._add_change(event)
            case PlanMade():
                self.plan = event
            case EditPlanned():
                self.edits.append(event)
            case LevelsRead():
                self.levels[event.named] = event
                self.levels_before.setdefault(event.named, event)
            case DriftObserved():
                self.observed.append(event)
            case FactsRead():
                self.facts[event.when] = event.facts
            case FindingMade():
                self.findings.append(event)
            case CellMeasured():
                self.cells.append(event.cell)
            case LevelMeasured():
                self.loads.append(event.level)
            case ConclusionMade():
                self.conclusions.append(event)
            case LogLine():
                if event.kind:
                    self.log.append(event)
                    del self.log[:-LOG_LINES_KEPT]
            case QuestionAsked():
                self.question = event
            case QuestionAnswered():
                if self.question is not None and self.question.question == event.question:
                    self.question = None
            case ConnectionChanged():
                self.connection = event
                self.auth = event.auth or self.auth
            case LockChanged():
                self.lock = event
            case GuardChanged():
                self.guard = event
            case Verified():
                # While the old state is being put back, it is the old one that was proven.
                if self.undo_started is None or self.purpose == "rollback":
                    self.verified = event
            case ServiceTroubled():
                self.troubled = event
            case UndoStarted():
                self.undo_started, self.undo_finished = event, None
            case UndoFinished():
                self.undo_finished = event
            case RecordSaved():
                self.record = event
            case RecordCommitted():
                self.committed = event
            case _:
                pass

    def _add_step(self, event: StepStarted | StepProgress | StepFinished) -> None:
        if isinstance(event, StepStarted):
            # Started again after "keep waiting": what it said before no longer holds.
            self.steps[event.step] = StepState(
                id=event.step,
                uses=event.uses,
                index=event.index,
                of=event.of,
                title=event.title,
                on_abort=event.on_abort,
                started_at=event.ts,
                undoing=self.undo_started is not None and self.purpose != "rollback",
            )
            return
        step = self.steps.get(event.step)
        if step is None:
            uses = event.uses if isinstance(event, StepFinished) else ""
            undoing = self.undo_started is not None and self.purpose != "rollback"
            step = self.steps[event.step] = StepState(event.step, uses, started_at=event.ts, undoing=undoing)
        if isinstance(event, StepFinished):
            step.uses = event.uses
            step.outcome, step.message = event.outcome, event.message
            step.duration_s, step.error = event.duration_s, event.error
            return
        step.phase, step.message, step.progress_at = event.phase, event.message, event.ts
        step.done, step.total, step.eta_s = event.done, event.total, event.eta_s

    def _add_change(self, event: ChangeIntended | ChangeMade | ChangeUndoing | ChangeUndone) -> None:
        change = self.changes.get(event.change.id)
        if change is None:
            change = self.changes[event.change.id] = ChangeState(event.change, event.step)
        if isinstance(event, ChangeUndoing):
            change.state, change.undo_from = "undoing", event.before
            return
        if isinstance(event, ChangeMade) and change.state == "undoing":
            change.state = "made"  # looking showed that it was not put back: it stands since it was made
            return
        change.before = event.before or change.before
        change.after = event.after or change.after
        if isinstance(event, ChangeIntended):
            change.state, change.intended, change.backup = "intended", event.seq, event.backup
        elif isinstance(event, ChangeMade):
            change.state, change.made, change.was_made = "made", event.seq, True
            change.backup = event.backup or change.backup
        else:
            change.state, change.undone, change.how = "undone", event.seq, event.how
            if event.how != NOT_MADE and not change.was_made:
                # Nobody saw it made: the run that is rolled back made it, or a connection died on it.
                change.was_made, change.made = True, change.intended or event.seq


def _went_well(step: StepState) -> bool:
    if step.outcome == "refused":
        # A server too busy to be measured is a finding, unless measuring was all there was to do.
        return step.uses.startswith("measure.") and step.of > 1
    return step.outcome in (None, "ok", "changed", "skipped")
