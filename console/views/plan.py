"""A plan as an operator reads it: what changes, the four questions, the steps, and the exact words and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from console.schema.facts import Facts
from console.schema.plan import Plan, PlannedStep, SettingChange
from console.untrusted import clean, one_line
from console.views.answers import answer_lines, labelled
from console.views.argv import changed_words, marked
from console.views.cells import cells, pad, wrap
from console.views.figures import clock
from console.views.lines import Line, Tone, lines
from console.views.paint import paint


def plan_text(
    plan: Plan, facts: Facts | None, width: int = 80, color: bool = False, *, commands: Sequence[str] = ()
) -> str:
    """The whole plan in lines of at most `width` cells; `commands` are what to type next, never broken over lines.

    Without `color` there is no escape in it; with it, no word says less without its colour.
    """
    said = lines(_head(plan, facts, width), "head")
    if plan.nothing_to_do:
        said += lines(_nothing(plan, width), "good")
    said += lines(_edits(plan, width))
    said += lines(answer_lines(plan.answers, width))
    said += lines(labelled("WARNING", plan.warnings, width), "warn")
    said += [Line(""), *_steps(plan, width)]
    said += _command(plan, width)
    said += _diffs(plan)
    if commands:
        said += [
            Line(""),
            *lines(f"{'next:' if index == 0 else '     '} {one_line(text)}" for index, text in enumerate(commands)),
        ]
    return "\n".join(paint(line, color) for line in said)


def _head(plan: Plan, facts: Facts | None, width: int) -> list[str]:
    target = plan.target
    words = [target.name, target.service.unit]
    words += ["protected"] if target.protected else []
    words += ["simulated"] if target.simulated or (facts is not None and facts.host.simulated) else []
    jump = target.host.jump or target.defaults.jump
    words += [f"via {jump}"] if jump else []
    time = clock(plan.made_at)
    text = "  ".join(words)
    room = width - cells(time) - 2
    if cells(text) > room:
        return [*wrap(text, width, rest="  "), pad(time, width, right=True)]
    return [f"{pad(text, room)}  {time}"]


def _nothing(plan: Plan, width: int) -> list[str]:
    already = ", ".join(f"{change.setting} {change.after}" for change in plan.unchanged)
    return labelled("NOTHING TO DO", [f"already so on disk, loaded, running: {already or 'everything'}"], width)


def _edits(plan: Plan, width: int) -> list[str]:
    """OUR EDIT: where, which flag, from what to what; a note where a change costs accuracy."""
    said = labelled("OUR EDIT", [edit_text(change, plan) for change in plan.settings], width)
    if not plan.nothing_to_do:
        said += labelled(
            "ALREADY SO", [f"{place(change)}  {change.flag} {change.after}" for change in plan.unchanged], width
        )
    others = [change for change in plan.changes if change.kind == "command"]
    return said + labelled("COMMANDS", [change.summary or change.id for change in others], width)


def edit_text(change: SettingChange, plan: Plan) -> str:
    before, after = ("absent" if value is None else value for value in (change.before, change.after))
    lossy = " (lossy)" if change.lossy else ""
    return f"{place(change)}  {change.flag} {before} -> {after}{lossy}"


def place(change: SettingChange) -> str:
    """`20-window.conf:3`; the whole path stands in the diff."""
    return f"{PurePosixPath(change.path).name}:{change.line}"


def _steps(plan: Plan, width: int) -> list[Line]:
    said = lines(wrap(f"steps of {plan.runbook}", width), "head")
    number_width = len(str(len(plan.steps)))
    for step in plan.steps:
        head = f" {step.index:>{number_width}}  {pad(step.uses, 22)} "
        tone: Tone = "dim" if step.skipped else ""
        said += lines(wrap(step_text(step), width, first=head), tone)
    return said


def step_text(step: PlannedStep) -> str:
    if step.skipped:
        return f"skipped: {step.skipped}"
    return f"{step.title} ({step.note})" if step.note else step.title


def _command(plan: Plan, width: int) -> list[Line]:
    if not plan.argv_after and not plan.argv_before:
        return []
    count = changed_words(plan.argv_before, plan.argv_after)
    head = f"command line: {count} word{'' if count == 1 else 's'} differ{'s' if count == 1 else ''}"
    body = wrap(" ".join(marked(plan.argv_before, plan.argv_after)), width, first="  ", rest="    ")
    return [Line(""), Line(head if count else "command line: as it is", "head"), *lines(body, "words")]


def _diffs(plan: Plan) -> list[Line]:
    """The diffs as they are: a wrapped diff would be no diff any more."""
    said: list[Line] = []
    for edit in plan.edits:
        said.append(Line(""))
        said.extend(Line(text, _diff_tone(text)) for text in clean(edit.diff).split("\n"))
    return said


def _diff_tone(text: str) -> Tone:
    if text.startswith(("+++", "---", "@@")):
        return "head"
    return "new" if text.startswith("+") else "old" if text.startswith("-") else ""
