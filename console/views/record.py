"""A record on one screen: what was done, whether it holds, what it cost, what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.results.figures import figure, main_figures
from console.untrusted import one_line
from console.views.cells import wrap
from console.views.charts import line_chart
from console.views.figures import day, duration
from console.views.tables import table

if TYPE_CHECKING:
    from console.schema.events import FindingMade
    from console.schema.record import Record

LABEL = 13


def record_text(record: Record, message: str, sha: str, width: int = 80) -> str:
    """The commit's own words first, then the tables they rest on."""
    said = [f"{record.target}  run {record.run}  commit {sha[:12]}", ""]
    prose = message.rstrip("\n").split("\n\n")
    for paragraph in prose[:-1]:
        said += [*wrap(one_line(paragraph), width), ""]
    rows = {
        "outcome": record.outcome.value + ("" if record.exit_code is None else f", exit {record.exit_code}"),
        "when": f"{day(record.started_at)}, took {duration(record.duration_s)}",
        "outage": "" if record.outage_s is None else duration(record.outage_s),
        "by": " ".join(
            part for part in (record.operator, f"from {record.from_host}" if record.from_host else "") if part
        ),
        "authenticated": record.operator_auth,
        "reason": "; ".join(part for part in (record.reason, record.ticket) if part),
        "runbook": record.runbook,
        "in front": record.router,
        "simulated": "yes" if record.simulated else "",
    }
    for label, text in rows.items():
        if text:
            said += wrap(text, width, first=f"{label:<{LABEL}} ", rest=" " * (LABEL + 1))
    if record.settings:
        cells = [
            (
                s.setting,
                _shown(s.before),
                _shown(s.after),
                "made" if s.made else "already so" if s.already else "not made",
            )
            for s in record.settings
        ]
        said += ["", *table(("setting", "before", "after", ""), cells, width)]
    if record.observed:
        found = [(o.setting, _shown(o.before), _shown(o.after), o.how) for o in record.observed]
        said += ["", *table(("found", "recorded", "now", ""), found, width)]
    if record.levels:
        levels = [
            (v.named, *(_level(value) for value in (v.disk, v.loaded, v.running, v.serving))) for v in record.levels
        ]
        said += ["", *table(("level", "disk", "loaded", "running", "serving"), levels, width)]
    if record.findings:
        said += ["", *findings_table(record.findings, width)]
        said += chart_of(record.findings, width)
    return "\n".join(said)


def findings_table(findings: tuple[FindingMade, ...], width: int) -> list[str]:
    rows = []
    for one in findings:
        value = " ".join(part for part in (figure(one.value), one.unit) if part)
        value = ", ".join([part for part in (value,) if part] + [f"{n} {v}" for n, v in main_figures(one.figures)])
        spread = f"{figure(one.low)}..{figure(one.high)}" if one.low is not None and one.high is not None else ""
        context = "" if one.context_tokens is None else str(one.context_tokens)
        rows.append((one.name, value, spread, context, " ".join(p for p in (one.text_class, one.method) if p)))
    return table(("finding", "value", "interval", "context", "method"), rows, width, right=(3,), wrapped=1)


def chart_of(findings: tuple[FindingMade, ...], width: int) -> list[str]:
    """A chart of each figure that was measured over three contexts or more."""
    series: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for one in findings:
        if isinstance(one.value, int | float) and isinstance(one.context_tokens, int):
            series.setdefault((one.name, one.unit, one.text_class), []).append(
                (float(one.context_tokens), float(one.value))
            )
    said: list[str] = []
    for (name, unit, text_class), points in series.items():
        if len(points) >= 3:
            title = " ".join(part for part in (name, text_class, f"({unit})" if unit else "") if part)
            said += ["", *line_chart(points, title=f"{title} over context tokens", width=width)]
    return said


def _shown(value: str | None) -> str:
    return "absent" if value is None else value or '""'


def _level(value: str | None) -> str:
    return "n/a" if value is None else value
