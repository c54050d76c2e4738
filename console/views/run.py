"""A run told line by line from its events, for a terminal, a pipe or a log file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from console.runs.state import RunState
from console.runs.target_state import NOT_MADE, StepState, TargetState
from console.schema.change import BalancerChange, CommandChange, FileChange
from console.schema.events import (
    AbortRequested,
    ChangeUndone,
    ConclusionMade,
    ConnectionChanged,
    EditPlanned,
    Event,
    FindingMade,
    GuardChanged,
    LevelsRead,
    LockChanged,
    LogLine,
    PlanMade,
    QuestionAnswered,
    QuestionAsked,
    RecordCommitted,
    RecordSaved,
    RunStarted,
    StepFinished,
    StepProgress,
    TargetFinished,
    TargetStarted,
    UndoFinished,
    UndoStarted,
    WaitExtended,
    WaveFinished,
    WaveStarted,
)
from console.untrusted import one_line
from console.views.answers import answer_lines, answers_of, labelled
from console.views.argv import near_changes
from console.views.cells import cells, pad, wrap
from console.views.figures import bar, clock_s, duration, number
from console.views.levels import level_summary
from console.views.lines import TONES, Line, Tone, lines
from console.views.standing import left_where, standing

# How often a wait says where it is when nothing new begins, seconds.
PROGRESS_EVERY_S = 5.0
OUTCOME_WIDTH = 8
LONGEST_MESSAGE = 2000


@dataclass
class Narration:
    """Feed it every event in order; `tell` returns what to say about each. It folds the run itself.

    `asks`: a front puts the questions to a person, so they are not repeated here.
    """

    width: int = 80
    asks: bool = False
    state: RunState = field(default_factory=RunState)
    _told: dict[str, tuple[str, float]] = field(default_factory=dict)
    _failure_lines: set[tuple[str, str]] = field(default_factory=set)

    def tell(self, event: Event) -> list[Line]:
        self.state.apply(event)
        match event:
            case RunStarted():
                return self._run_started(event)
            case StepFinished():
                return self._step_finished(event)
            case StepProgress():
                return self._progress(event)
            case AbortRequested():
                return self._abort(event)
            case WaveStarted():
                return [Line(f"wave {event.index}: {', '.join(event.targets)}", "head")]
            case WaveFinished():
                return [Line(f"wave {event.index}: {event.verdict}")]
            case PlanMade():
                return self._plan(event)
            case LogLine() if event.kind == "failure":
                key = event.target, _key(event.text)
                if key in self._failure_lines:
                    return []  # seen while waiting, and again as what ended it
                self._failure_lines.add(key)
                return self._say(event, f"| {one_line(event.text, 400)}", "bad", indent=4)
            case _:
                return self._short(event)

    def _short(self, event: Event) -> list[Line]:
        """Events that take one sentence."""
        match event:
            case TargetStarted():
                return self._say(event, f"looking at {event.target}, {event.unit} ({event.engine})", "head", bare=True)
            case LevelsRead():
                return self._say(event, level_summary(event))
            case ChangeUndone():
                return self._say(event, undone_text(event))
            case UndoStarted():
                return self._say(event, f"PUTTING BACK: {event.reason}", "warn")
            case UndoFinished():
                word = "put back and proven" if event.proven else "NOT PUT BACK"
                return self._say(event, f"{word}: {event.message}", "warn" if event.proven else "bad")
            case FindingMade():
                return self._say(event, finding_text(event))
            case ConclusionMade():
                return self._say(event, f"{event.kind.replace('_', ' ')}: {event.text}")
            case ConnectionChanged():
                return self._connection(event)
            case LockChanged() if event.state == "lost":
                return self._say(event, "the lock on the host is lost", "warn")
            case GuardChanged():
                tone: Tone = "warn" if event.state in ("still armed", "fired") else "dim"
                text = f"guard {event.state}" + (f": {event.message}" if event.message else "")
                return self._say(event, text, tone)
            case QuestionAsked() if not self.asks:
                without = f"  (without an answer: {event.default})" if event.choices else ""
                return self._say(event, f"asked: {event.text}{without}", "warn")
            case QuestionAnswered():
                return self._say(event, f"answer: {event.answer}, by {event.by}")
            case WaitExtended():
                return [Line(f"waits {event.minutes:g} min longer, by {one_line(event.by)}", "warn")]
            case RecordSaved():
                # Not broken over lines: it is copied.
                return [Line(f"{self._prefix(event)}  record: {one_line(event.path)}", "dim")]
            case RecordCommitted() if event.error:
                return self._say(event, event.error, "warn")
            case RecordCommitted():
                return self._say(event, f"committed {event.sha[:10]}", "dim")
            case TargetFinished():
                return self._say(
                    event, f"ended {event.outcome} {duration(event.duration_s)}", TONES.get(event.outcome, "")
                )
            case _:
                return []

    def going_on(self, elapsed_s: Callable[[str, str], float | None] = lambda _target, _step: None) -> list[str]:
        """One line for each target that is at a step now, for a screen that redraws: where it is, and how long.

        `elapsed_s` tells for a target and a step since when; None where that is not known.
        """
        said = []
        several = len(self.state.targets) > 1
        for target in self.state.targets.values():
            step = target.current_step()
            if step is None or target.finished is not None:
                continue
            name = f"{target.name}  " if several else ""
            elapsed = elapsed_s(target.name, step.id)
            parts = [progress_text(step), "" if elapsed is None else duration(elapsed), step_title(target, step)]
            # The title last: it is what may be cut off.
            said.append(f"{name}{step_tag(target, step)} " + ", ".join(one_line(part) for part in parts if part))
        return said

    # -- one event ------------------------------------------------------------------------------------------------

    def _run_started(self, event: RunStarted) -> list[Line]:
        title = f": {event.title}" if event.title else ""
        parent = f" of {event.parent}" if event.parent else ""
        word = event.purpose if event.purpose != "run" else "run"
        said = wrap(f"{word} {event.run}{parent}  {event.runbook}{title}", self.width, rest="  ")
        if event.taken_over_from:
            said += wrap(event.taken_over_from, self.width, first="begun by: ")
        if event.reason:
            said += wrap(event.reason, self.width, first="reason: ")
        return lines(said, "head")

    def _plan(self, event: PlanMade) -> list[Line]:
        if event.nothing_to_do:
            settings = ", ".join(sentence.partition(" -> ")[0] for sentence in event.settings)
            return self._say(event, f"nothing to do: {settings or 'everything'} is so already", "good")
        width = self.width - cells(self._prefix(event))
        edits = self.state.target(event.target).edits
        said = self._prefixed(event, labelled("OUR EDIT", [edit_text(edit) for edit in edits], width))
        # Each edit carries the whole plan's command lines.
        words = [" ".join(near_changes(edit.argv_before, edit.argv_after)) for edit in edits[:1]]
        said += self._prefixed(event, labelled("WORDS", [text for text in words if text], width), "words")
        said += self._prefixed(event, answer_lines(answers_of(event.answers), width))
        return said + self._prefixed(event, labelled("WARNING", event.warnings, width), "warn")

    def _step_finished(self, event: StepFinished) -> list[Line]:
        target = self.state.target(event.target)
        step = target.steps[event.step]
        self._told.pop(event.target, None)
        head = f"{self._prefix(event)}{step_tag(target, step)} {event.outcome:<{OUTCOME_WIDTH}} "
        message = "\n".join(
            line
            for line in event.message[:LONGEST_MESSAGE].split("\n")
            if line.strip() and (event.target, _key(line)) not in self._failure_lines
        )
        took = duration(event.duration_s) if event.duration_s >= 0.05 else ""
        return lines(
            step_lines(head, step_title(target, step), message, took, self.width), TONES.get(event.outcome, "")
        )

    def _progress(self, event: StepProgress) -> list[Line]:
        at = _seconds(event.ts)
        mark = event.phase or event.step
        before = self._told.get(event.target)
        if before is not None and before[0] == mark and at - before[1] < PROGRESS_EVERY_S:
            return []
        self._told[event.target] = (mark, at)
        target = self.state.target(event.target)
        head = f"{self._prefix(event)}{step_tag(target, target.steps[event.step])} {'...':<{OUTCOME_WIDTH}} "
        return lines(wrap(progress_text(event), self.width, first=head), "dim", passing=True)

    def _abort(self, event: AbortRequested) -> list[Line]:
        """The state at once, before anything is waited for; the second time everything that is left, and where."""
        choice = f", {event.choice}" if event.choice else ""
        said = [Line(f"STOP ({event.how}{choice}) {clock_s(event.ts)}", "warn")]
        if len(self.state.aborts) > 1:
            return said + lines(left_where(self.state, self.width), "warn")
        for target in self.state.targets.values():
            if target.finished is not None:
                continue
            step = target.current_step()
            where = f"{step_tag(target, step)} {step_title(target, step)}: {step.on_abort or 'stops'}; " if step else ""
            said += lines(
                wrap(f"{where}{standing(target)}", self.width, first=f"  {target.name} ", rest="    "), "warn"
            )
        return said

    def _connection(self, event: ConnectionChanged) -> list[Line]:
        text = event.state if event.state == "connected" else f"connection {event.state}"
        text += f" as {event.auth}" if event.auth else ""
        text += f": {event.message}" if event.message else ""
        return self._say(event, text, "dim" if event.state in ("connected", "closed") else "warn")

    # -- how it stands on the line ---------------------------------------------------------------------------------

    def _prefix(self, event: Event) -> str:
        """The target's name, where there is more than one to tell apart."""
        started = self.state.started
        names = started.targets if started else ()
        if len(names) < 2 or not event.target:
            return ""
        return pad(event.target, min(24, max(cells(name) for name in names))) + "  "

    def _say(self, event: Event, text: str, tone: Tone = "", *, indent: int = 0, bare: bool = False) -> list[Line]:
        prefix = "" if bare else self._prefix(event)
        first = prefix + " " * (indent or (0 if bare else 2))
        rest = prefix + " " * (cells(first) - cells(prefix) + 2)
        return lines(wrap(text[:LONGEST_MESSAGE], self.width, first=first, rest=rest), tone)

    def _prefixed(self, event: Event, texts: list[str], tone: Tone = "") -> list[Line]:
        prefix = self._prefix(event)
        return lines((prefix + text for text in texts), tone)


def edit_text(event: EditPlanned) -> str:
    """`20-window.conf:3 context_length 16384 -> 65536`; the whole path stands in the record and in the plan."""
    before = "absent" if event.before is None else event.before
    return f"{PurePosixPath(event.file).name} {event.setting} {before} -> {event.after}"


def undone_text(event: ChangeUndone) -> str:
    """What putting back did; a reload and a restart are put back by another one."""
    what = event.change
    if event.how == NOT_MADE:
        return f"never happened: {what.summary or event.kind}"
    if isinstance(what, FileChange) and what.makes:
        return f"{PurePosixPath(what.path).name} is taken away again: {what.summary} is undone"
    if isinstance(what, FileChange):
        return f"{PurePosixPath(what.path).name} is as it was: {what.summary} is undone"
    if isinstance(what, CommandChange):
        return f"undone: {what.summary or what.command}"
    if isinstance(what, BalancerChange):
        return f"{what.member} is in the balancer of {what.group} again"
    return f"once more, for the old state: {what.summary}"


def step_tag(target: TargetState, step: StepState) -> str:
    """`[ 3/12]`; of a phase or of a step that puts back, its own word."""
    index, of, _ = _planned(target, step)
    if step.is_phase:
        return f"[{step.uses}]"
    if not of or not index:
        return "[undo]" if step.undoing else f"[{step.id}]"
    return f"[{index:>{len(str(of))}}/{of}]"


def step_title(target: TargetState, step: StepState) -> str:
    return step.title or _planned(target, step)[2] or ("" if step.is_phase else step.uses)


def _planned(target: TargetState, step: StepState) -> tuple[int, int, str]:
    """Index, number of steps and title: the step's own, else what the plan says of a step that never started."""
    if step.of:
        return step.index, step.of, step.title
    planned = target.plan.steps if target.plan else ()
    for index, text in enumerate(planned, start=1):
        name, _, title = text.partition(": ")
        if name == step.id:
            return index, len(planned), step.uses if title == step.message else title
    return step.index, 0, step.title


def step_lines(head: str, title: str, message: str, took: str, width: int) -> list[str]:
    """A step's end: title and time on the first line, the message beside the title where it fits, else below."""
    title, flat = one_line(title), one_line(message)
    room = max(20, width - cells(head) - (cells(took) + 2 if took else 0))
    joined = f"{title}: {flat}" if title and flat else title or flat
    if cells(joined) <= room and "\n" not in message:
        body = [joined]
    else:
        # Where the time stands on the first line there is less room, and on no other.
        body = wrap(title or message, room if title or took else width - cells(head))
        body += wrap(message, width - cells(head)) if title else []
    first, *further = body or [""]
    top = f"{head}{pad(first, room)}  {took}" if took else f"{head}{first}"
    return [top.rstrip(), *(" " * cells(head) + line for line in further if line)]


def progress_text(event: StepProgress | StepState) -> str:
    """`weights [####....] 12/25, eta 1m20s, port open`."""
    said = [event.phase] if event.phase else []
    if event.done is not None and event.total:
        said[-1:] = [
            f"{''.join(said[-1:])} {bar(event.done, event.total)} {number(event.done)}/{number(event.total)}".lstrip()
        ]
    elif event.done is not None:
        said.append(number(event.done))
    if event.eta_s is not None:
        said.append(f"eta {duration(event.eta_s)}")
    if event.message:
        said.append(one_line(event.message, 300))
    return ", ".join(said)


def finding_text(event: FindingMade) -> str:
    """`decode_rate 139.6 tok/s [138.9, 140.3], n 5, two_point`."""
    text = event.name if event.value == "" else f"{event.name} {number(event.value)}"
    text += f" {event.unit}" if event.unit else ""
    if event.low is not None and event.high is not None:
        text += f" [{number(event.low)}, {number(event.high)}]"
    if event.context_tokens is not None:
        text += f" at {number(event.context_tokens)} tokens"
    text += f", {event.text_class}" if event.text_class else ""
    text += "".join(f", {word} {number(value)}" for word, value in shown_figures(event.figures))
    text += f", {event.method}" if event.method else ""
    return text + "".join(f" ({flag})" for flag in event.flags)


def shown_figures(figures: Mapping[str, float]) -> list[tuple[str, float]]:
    """Further figures of a finding as people call them, without the bounds of their intervals."""
    names = {"accept_length": "avg commit", "step_time_ms": "step ms"}
    return [
        (names.get(name, name.replace("_", " ")), value)
        for name, value in figures.items()
        if "_low" not in name and "_high" not in name
    ]


def _seconds(stamp: str) -> float:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return 0.0


def _key(line: str) -> str:
    """What two showings of one log line have in common: a message cuts it shorter than the log does."""
    return one_line(line)[:120]
