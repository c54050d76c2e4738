"""The findings of a run as a table and as lines of a chart, beside those of an earlier run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from console.schema.cells import Cell
from console.schema.events import ConclusionMade, FindingMade
from console.views.cells import wrap
from console.views.figures import number
from console.views.plot import Point, Series, chart
from console.views.tables import table

# In a narrow terminal: finding, context, value, and the difference to the earlier run.
NARROW, KEPT = 60, (0, 2, 3, 6)
# What is drawn, in this order of preference.
DRAWN = ("step_time", "decode_rate", "ttft", "prefill_rate")


@dataclass(frozen=True)
class Key:
    """Findings of one key can be compared: same quantity, same text, same context."""

    name: str
    text_class: str
    context: str


def key_of(finding: FindingMade) -> Key:
    return Key(finding.name, finding.text_class, "" if finding.context_tokens is None else str(finding.context_tokens))


def series_of(findings: Iterable[FindingMade], label: str, name: str) -> list[Series]:
    """The points of one quantity over context length, a series for each class of text."""
    points: dict[str, list[Point]] = {}
    for finding in findings:
        if finding.name != name or not isinstance(finding.value, int | float):
            continue
        try:
            context = float(finding.context_tokens if finding.context_tokens is not None else "nan")
        except ValueError:
            continue
        if context == context:
            points.setdefault(finding.text_class, []).append(
                Point(context, float(finding.value), finding.low, finding.high)
            )
    return [
        Series(f"{label} {text_class}".strip(), tuple(sorted(some, key=lambda point: point.x)))
        for text_class, some in points.items()
    ]


def step_times(target: str, cells: Iterable[Cell]) -> list[FindingMade]:
    """Measured cells as points of step time, in ms: a sweep says cells one by one, and findings only at its end."""
    return [
        FindingMade(
            target=target,
            name="step_time",
            value=round(cell.step_ms, 3),
            unit="ms",
            low=cell.step_low,
            high=cell.step_high,
            text_class=cell.text_class,
            context_tokens=round(cell.at_tokens or cell.context_tokens or 0),
            n=cell.pairs,
            method=cell.method,
            flags=cell.flags,
        )
        for cell in cells
        if cell.step_ms is not None and (cell.at_tokens or cell.context_tokens) is not None
    ]


def fit_line(findings: Iterable[FindingMade], label: str) -> list[Series]:
    """The line that was fitted through step times, over what was measured: the same one as in the record's chart."""
    for finding in findings:
        lowest, dots, highest = str(finding.context_tokens or "").partition("..")
        figures = finding.figures
        if finding.name != "step_time_fit" or not dots or not {"intercept_ms", "slope_ms_per_token"} <= figures.keys():
            continue
        try:
            ends = (float(lowest), float(highest))
        except ValueError:
            continue
        a, b = figures["intercept_ms"], figures["slope_ms_per_token"]
        name = f"{label} {a:.4g} + {b:.4g} · context"
        return [Series(name, tuple(Point(x, a + b * x) for x in ends), marked=False)]
    return []


def drawn(findings: Sequence[FindingMade]) -> str:
    """The quantity worth a chart: with the most points, the preferred one of equals."""
    counted = {name: sum(len(one.points) for one in series_of(findings, "", name)) for name in DRAWN}
    best = max(counted, key=lambda name: (counted[name], -DRAWN.index(name)))
    return best if counted[best] else ""


def series_chart(
    findings: Sequence[FindingMade],
    baseline: Sequence[FindingMade],
    width: int,
    height: int,
    *,
    ascii_only: bool = False,
) -> list[str]:
    """The chart of what was measured, over the same of an earlier run."""
    name = drawn(findings)
    if not name:
        return []
    unit = next((finding.unit for finding in findings if finding.name == name), "")
    measured = [*series_of(findings, "now", name), *series_of(baseline, "before", name)]
    fitted = [
        line
        for some, label in ((findings, "fit"), (baseline, "fit before"))
        for line in fit_line(some, label)
        if name == "step_time"
    ]
    # Points that have a line through them are not joined by another one.
    lines = [replace(one, line=not fitted) for one in measured] + fitted
    return chart(lines, width, height, x="tokens of context", y=f"{name} {unit}".strip(), ascii_only=ascii_only)


def series_table(findings: Sequence[FindingMade], baseline: Sequence[FindingMade], width: int = 80) -> list[str]:
    """One finding a row: value, interval, how many, the difference to the earlier run, and its flags in words."""
    before = {key_of(finding): finding for finding in baseline}
    rows = [_row(finding, before.get(key_of(finding))) for finding in findings]
    head = ("finding", "text", "context", "value", "interval", "n", "before" if baseline else "", "flags")
    if not rows:
        return ["nothing is measured yet"]
    if width < NARROW:
        return table([head[at] for at in KEPT], [[row[at] for at in KEPT] for row in rows], width, right=(1, 2, 3))
    return table(head, rows, width, right=(2, 3, 5, 6), wrapped=7)


def _row(finding: FindingMade, before: FindingMade | None) -> tuple[str, ...]:
    value = number(finding.value) + (f" {finding.unit}" if finding.unit else "")
    if finding.name == "step_time_fit" and {"intercept_ms", "slope_ms_per_token"} <= finding.figures.keys():
        value = f"{finding.figures['intercept_ms']:.4g} + {finding.figures['slope_ms_per_token']:.4g} · context"
    interval = ""
    if finding.low is not None and finding.high is not None:
        interval = f"{number(finding.low)}..{number(finding.high)}"
    context = number(finding.context_tokens) if finding.context_tokens is not None else ""
    count = "" if finding.n is None else str(finding.n)
    return (
        finding.name,
        finding.text_class,
        context,
        value,
        interval,
        count,
        change(finding, before),
        ", ".join(finding.flags),
    )


def change(finding: FindingMade, before: FindingMade | None) -> str:
    """`-4.1% !`: `!` where the intervals do not meet, so that it is more than the spread."""
    if before is None or not isinstance(before.value, int | float) or not isinstance(finding.value, int | float):
        return ""
    if not before.value:
        return ""
    share = f"{(float(finding.value) / float(before.value) - 1) * 100:+.1f}%"
    ends = (finding.low, finding.high, before.low, before.high)
    if any(end is None for end in ends):
        return share
    apart = float(finding.high or 0) < float(before.low or 0) or float(finding.low or 0) > float(before.high or 0)
    return f"{share} !" if apart else share


def conclusion_lines(conclusions: Iterable[ConclusionMade], width: int) -> list[str]:
    """Causes, what was ruled out, and what would help."""
    words = {"cause": "cause", "ruled_out": "ruled out", "lever": "would help"}
    return [
        line
        for one in conclusions
        for line in wrap(
            one.text + (f"  ({one.gain:g}x)" if one.gain else ""), width, first=f"{words.get(one.kind, one.kind)}: "
        )
    ]
