"""What was measured, as one plain table: context, rate, what a step commits, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence

from console.schema.cells import Cell
from console.schema.events import FindingMade
from console.views.cells import wrap
from console.views.figures import number
from console.views.tables import table

HEAD = ("context", "text", "tok/s", "avg commit", "step ms", "")


def measured_lines(cells: Sequence[Cell], findings: Sequence[FindingMade], width: int = 80) -> list[str]:
    """Nothing where nothing was measured. Cells of one context are shown in its order, not in that of the run."""
    if not cells:
        return []
    ordered = sorted(
        cells, key=lambda cell: (cell.step, cell.text_class, cell.context_tokens or cell.asked_tokens or 0)
    )
    said = table(HEAD, [row(cell) for cell in ordered], width, right=(0, 2, 3, 4), wrapped=5)
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


def row(cell: Cell) -> tuple[str, ...]:
    context = cell.context_tokens if cell.context_tokens is not None else cell.asked_tokens
    marks = [cell.reason] if cell.state != "measured" and cell.reason else []
    marks += [cell.state] if cell.state == "partial" else []
    marks += list(cell.flags)
    if cell.refused_pairs:
        marks.append(f"{cell.refused_pairs} of {cell.pairs + cell.refused_pairs} pairs refused")
    return (
        "" if context is None else number(context),
        cell.text_class,
        figure(cell.rate_tok_s, 1),
        figure(cell.accept_length, 2),
        figure(cell.step_ms, 1),
        "; ".join(marks),
    )


def figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
