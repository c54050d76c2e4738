"""What was measured, as one plain table: context, rate, what a step commits, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from console.schema.cells import Cell
from console.schema.events import FindingMade
from console.views.cells import wrap
from console.views.figures import number
from console.views.tables import table

HEAD = ("context", "text", "tok/s", "avg commit", "step ms", "")


def measured_lines(cells: Sequence[Cell], findings: Sequence[FindingMade], width: int = 80) -> list[str]:
    """Nothing where nothing was measured. Cells of a sweep are one line a context, in its order."""
    if not cells:
        return []
    rows = [row([cell]) for cell in cells if cell.step == "decode"]
    by_context: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        if cell.step == "sweep":
            by_context.setdefault((cell.text_class, cell.asked_tokens or 0), []).append(cell)
    rows += [row(by_context[key]) for key in sorted(by_context)]
    said = table(HEAD, rows, width, right=(0, 2, 3, 4), wrapped=5)
    for finding in findings:
        if finding.name == "step_time_fit":
            figures = finding.figures
            line = f"step ms = {figures['intercept_ms']:.4g} + {figures['slope_ms_per_token']:.4g} · context"
            marks = "".join(f"; {flag}" for flag in finding.flags)
            said += wrap(f"{line}, measured at {finding.context_tokens} tokens{marks}", width)
        if finding.name == "step_time_predicted" and finding.low is not None and finding.high is not None:
            marks = "".join(f", {flag}" for flag in finding.flags)
            value = f"{number(finding.value)} ms [{number(finding.low)}, {number(finding.high)}]"
            said += wrap(f"predicted at {number(finding.context_tokens or 0)} tokens: {value}{marks}", width)
    return said


def row(cells: Sequence[Cell]) -> tuple[str, ...]:
    """One line for the cells of one context: the mean of those that have a figure, and every mark once."""
    first = cells[0]
    context = next((cell.context_tokens for cell in cells if cell.context_tokens is not None), first.asked_tokens)
    marks: list[str] = []
    for cell in cells:
        marks += [cell.reason] if cell.state != "measured" and cell.reason else []
        marks += [cell.state] if cell.state == "partial" else []
        marks += cell.flags
    refused = sum(cell.refused_pairs for cell in cells)
    if refused:
        marks.append(f"{refused} of {refused + sum(cell.pairs for cell in cells)} pairs refused")
    return (
        "" if context is None else number(context),
        first.text_class,
        figure([cell.rate_tok_s for cell in cells], 1),
        figure([cell.accept_length for cell in cells], 2),
        figure([cell.step_ms for cell in cells], 1),
        "; ".join(dict.fromkeys(marks)),
    )


def figure(values: Sequence[float | None], digits: int) -> str:
    known = [value for value in values if value is not None]
    return f"{mean(known):.{digits}f}" if known else "-"
