"""The steps of a run as lines: a glyph and a word for each, and how the one that goes on stands."""

from __future__ import annotations

from datetime import datetime

from console.runs.state import RunState
from console.runs.target_state import StepState, TargetState
from console.untrusted import one_line
from console.views.argv import near_changes
from console.views.cells import cells, cut, pad, wrap
from console.views.figures import duration
from console.views.run import progress_text, step_tag, step_title

GLYPHS = {
    "": ".",
    "ok": "+",
    "changed": "*",
    "skipped": "-",
    "refused": "!",
    "failed": "!",
    "aborted": "x",
    "unknown": "?",
}
RUNNING = ">"
WORD_WIDTH = 8
MESSAGE_LINES = 3


def step_lines(state: RunState, width: int, now: str = "", *, speed: float = 1.0) -> tuple[list[str], int]:
    """All targets' steps, done, going on and to come, and the index of the line about now.

    `now` is an RFC 3339 time; `speed` is that of a simulated host's clock.
    """
    said: list[str] = []
    present = 0
    for target in state.targets.values():
        if len(state.targets) > 1:
            said.append(target.name)
        for step in target.steps.values():
            if step.outcome is None:
                present = len(said)
            said += _step(target, step, width, since(step.started_at, now) * speed)
        if target.finished is None:
            said += _to_come(target, width)
    return said, present if present else max(0, len(said) - 1)


def _step(target: TargetState, step: StepState, width: int, so_far_s: float) -> list[str]:
    word = step.outcome or "running"
    glyph = GLYPHS.get(step.outcome or "", "?") if step.outcome else RUNNING
    took_s = step.duration_s if step.outcome else so_far_s
    took = duration(took_s) if took_s >= 0.05 else ""
    head = f"{glyph} {word:<{WORD_WIDTH}} {step_tag(target, step)} "
    room = max(10, width - cells(head) - (cells(took) + 2 if took else 0))
    title = one_line(step_title(target, step) or step.message.split("\n")[0])
    said = [f"{head}{pad(cut(title, room), room)}  {took}".rstrip()]
    if step.outcome is None:
        text = progress_text(step)
        said += wrap(text, width, first="    ")[:2] if text else []
    elif step.outcome in ("refused", "failed", "aborted", "unknown") and step.message:
        lines = [line for part in step.message.split("\n") if part.strip() for line in wrap(part, width, first="    ")]
        said += lines[:MESSAGE_LINES]
    return said


def _to_come(target: TargetState, width: int) -> list[str]:
    """Steps of the plan that have not begun; none any more while the old state is being put back."""
    if target.plan is None or target.undo_started is not None:
        return []
    of = len(target.plan.steps)
    said = []
    for index, text in enumerate(target.plan.steps, start=1):
        name, _, title = text.partition(": ")
        if name not in target.steps:
            said.append(cut(f"{GLYPHS['']} {'':<{WORD_WIDTH}} [{index:>{len(str(of))}}/{of}] {one_line(title)}", width))
    return said


def diff_lines(state: RunState, width: int) -> list[str]:
    """What the run edits, word by word of the command line, with the text difference of each file."""
    said: list[str] = []
    for target in state.targets.values():
        said += [] if not target.edits else [f"{target.name}  {target.unit}"]
        for edit in target.edits:
            said += ["", *wrap(f"{edit.file}: {edit.setting} {edit.before or 'absent'} -> {edit.after}", width)]
            words = near_changes(edit.argv_before, edit.argv_after)
            said += wrap(" ".join(words), width, first="  ") if words else []
            said += [line for text in edit.diff.splitlines() for line in wrap(text, width, rest="      ")]
            for text in edit.also_activates:
                said += wrap(text, width, first="  ALSO LIVE ")
    return said


def since(started: str, now: str) -> float:
    """Seconds between two RFC 3339 times; 0 where one is missing."""
    try:
        return max(0.0, (datetime.fromisoformat(now) - datetime.fromisoformat(started)).total_seconds())
    except ValueError:
        return 0.0


def word_of(state: RunState, *, alive: bool) -> str:
    """How the run stands, in a word or two."""
    if state.finished is not None:
        outcomes = dict.fromkeys(state.finished.outcomes.values())
        return f"{', '.join(outcomes) or 'ended'}  exit {state.finished.exit_code}".upper()
    if not alive:
        return "ITS PROCESS IS GONE"
    if any(target.undoing for target in state.targets.values()):
        return "PUTTING BACK"
    if state.question is not None:
        return "ASKS: a ANSWERS"
    return "STOPPING" if stopping(state) else "RUNNING"


def stopping(state: RunState) -> bool:
    """Whether a stop was asked for that the run has not gone on from."""
    if not state.aborts:
        return False
    asked = state.aborts[-1]
    started = (step.started_at for target in state.targets.values() for step in target.steps.values())
    return asked.choice != "wait" and max(started, default="") <= asked.ts
