"""The files of a record that hold what was measured: `sweep.csv`, `decode.csv`, and a chart of the sweep."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from console.results import measured_load
from console.results.spreadsheet import text
from console.results.svg import Band, chart
from console.schema.cells import Cell
from console.schema.events import FindingMade
from console.schema.record import Record

COLUMNS = (
    "name", "text_class", "cache", "state", "reason", "asked_tokens", "context_tokens", "at_tokens", "short_tokens",
    "long_tokens", "rate_tok_s", "rate_low", "rate_high", "step_ms", "step_low", "step_high", "accept_length",
    "accept_source", "pairs", "refused_pairs", "naive_tok_s", "agree",
)  # fmt: skip
CLOCKS = ("server", "client", "stream")


def files(record: Record) -> dict[str, str]:
    """By name; nothing where nothing was measured."""
    found = {}
    for step in ("decode", "sweep"):
        cells = [cell for cell in record.cells if cell.step == step]
        if cells:
            found[f"{step}.csv"] = table(cells)
    svg = sweep_chart(record)
    return found | ({"sweep.svg": svg} if svg else {}) | measured_load.files(record)


def table(cells: Iterable[Cell]) -> str:
    """A row a cell, in the order they were measured."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, *(f"{clock}_tok_s" for clock in CLOCKS), "flags"])
    for cell in cells:
        rates: dict[str, float | None] = {one.method: one.rate_tok_s for one in cell.estimates}
        values = [text(getattr(cell, name)) for name in COLUMNS]
        writer.writerow([*values, *(text(rates.get(clock)) for clock in CLOCKS), "; ".join(cell.flags)])
    return out.getvalue()


def sweep_chart(record: Record) -> str:
    """Step time over context with its line and what it predicts; empty without a line."""
    fit = next((one for one in record.findings if one.name == "step_time_fit"), None)
    if fit is None or not {"intercept_ms", "slope_ms_per_token"} <= fit.figures.keys():
        return ""
    points = [
        (cell.at_tokens, cell.step_ms)
        for cell in record.cells
        if cell.step == "sweep" and cell.at_tokens is not None and cell.step_ms is not None
    ]
    predicted = [one for one in record.findings if one.name == "step_time_predicted"]
    return chart(
        points,
        (fit.figures["intercept_ms"], fit.figures["slope_ms_per_token"]),
        [band for one in predicted if (band := band_of(one)) is not None],
        title=f"{record.target}: step time over context" + (" (simulated)" if record.simulated else ""),
    )


def band_of(finding: FindingMade) -> Band | None:
    at, low, high = finding.context_tokens, finding.low, finding.high
    if not isinstance(at, int) or not isinstance(finding.value, int | float) or low is None or high is None:
        return None
    return Band(float(at), float(finding.value), low, high)
