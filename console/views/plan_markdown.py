"""A plan as Markdown, for a ticket or a review."""

from __future__ import annotations

import re
from collections.abc import Iterable

from console.schema.plan import Plan
from console.untrusted import clean, one_line
from console.views.answers import QUESTIONS
from console.views.argv import marked
from console.views.by_hand import back_by_hand, by_hand
from console.views.figures import day
from console.views.plan import place, step_text

# What would start or end markup in running text.
_SPECIAL = re.compile(r"([\\`*_\[\]<#|~])|^([>+-](?=\s|$)|>)")


def plan_markdown(plan: Plan) -> str:
    """The plan as a document of its own; nothing a host says can become markup."""
    target = plan.target
    said = [f"# Plan: {_text(plan.title or plan.runbook)} on {_text(target.name)}", ""]
    said += [
        f"- unit: {_code(target.service.unit)}{', protected' if target.protected else ''}",
        f"- runbook: {_code(plan.runbook)}, sha256 {_code(plan.runbook_sha256[:12])}",
        f"- made at: {day(plan.made_at)}, plan sha256 {_code(plan.digest()[:12])}",
        "",
    ]
    if plan.nothing_to_do:
        said += ["**Nothing to do**: every setting is already so on disk, loaded and running.", ""]
    if plan.settings or plan.unchanged:
        said += _table(("setting", "flag", "before", "after", "where"), _settings(plan))
    for label, name in QUESTIONS:
        texts = getattr(plan.answers, name)
        if texts:
            said += [f"**{label.capitalize()}**", "", *(f"- {_text(text)}" for text in texts), ""]
    if plan.warnings:
        said += ["**Warnings**", "", *(f"- {_text(text)}" for text in plan.warnings), ""]
    said += ["## Steps", ""]
    said += _table(
        ("#", "step", "what"), ((str(step.index), _code(step.uses), _text(step_text(step))) for step in plan.steps)
    )
    if plan.argv_after:
        said += ["## Command line", "", *_fenced("text", " ".join(marked(plan.argv_before, plan.argv_after))), ""]
    for edit in plan.edits:
        said += [f"## {_code(edit.place)}", "", *_fenced("diff", edit.diff), ""]
    said += _digests(plan)
    for title, lines in (("By hand", by_hand(plan)), ("Back, by hand", back_by_hand(plan))):
        if lines:
            said += [f"## {title}", "", *_fenced("sh", "\n".join(lines)), ""]
    return "\n".join(said).rstrip() + "\n"


def _digests(plan: Plan) -> list[str]:
    """Every file that decides the unit, before and after; another byte in one of them, and the plan is stale."""
    edited = {
        f"{edit.node}:{edit.real_path}" if edit.node else edit.real_path or edit.path: edit for edit in plan.edits
    }
    rows = [
        (_code(path), _code(digest), _code(edited[path].sha256_after) if path in edited else "stays")
        for path, digest in plan.deciding.items()
    ]
    rows += [
        (_code(path), _code(edit.sha256_before), _code(edit.sha256_after))
        for path, edit in edited.items()
        if path not in plan.deciding
    ]
    return ["## Digests", "", *_table(("file", "sha256 before", "after"), rows)] if rows else []


def _settings(plan: Plan) -> Iterable[tuple[str, ...]]:
    for change in (*plan.settings, *plan.unchanged):
        before, after = ("absent" if value is None else value for value in (change.before, change.after))
        lossy = " (lossy)" if change.lossy else ""
        yield _text(change.setting), _code(change.flag), _code(before), _code(after) + lossy, _code(place(change))


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    columns = list(head)
    body = [f"| {' | '.join(row)} |" for row in rows]
    return [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}", *body, ""]


def _text(text: str) -> str:
    return _SPECIAL.sub(lambda mark: f"\\{mark[0]}", one_line(text))


def _code(text: str) -> str:
    """A code span; a backtick or a table's bar in it would end it early, so these are replaced."""
    return f"`{one_line(text).replace('`', 'ˋ').replace('|', '¦') or ' '}`"


def _fenced(language: str, text: str) -> list[str]:
    """A fenced block whose fence is longer than any run of backticks inside."""
    body = clean(text)
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *body.split("\n"), fence]
