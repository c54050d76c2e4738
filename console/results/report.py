"""report.md: a record for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from console.results import before_after, measured_load
from console.results.figures import figure, main_figures, span
from console.schema.cells import Cell
from console.schema.events import FindingMade, LevelsRead
from console.schema.record import Record
from console.untrusted import clean, one_line

CELL_CHARACTERS = 300
_MARKUP = re.compile(r"[\\`<>\[\]*]")


def render(record: Record) -> str:
    """The report of a masked record, as Markdown."""
    return "\n".join(_lines(record)).rstrip("\n") + "\n"


def _lines(record: Record) -> Iterator[str]:
    yield f"# {_text(record.target)}: {_text(record.runbook)}, {record.outcome.value}"
    yield ""
    if record.simulated:
        yield "**Simulated:** no real host was touched."
        yield ""
    if record.message:
        yield _text(record.message)
        yield ""
    yield from _table(("", ""), _head(record))
    yield from _section("Settings", ("setting", "before", "after", "file", ""), _settings(record))
    yield from _section(
        "Found, made by somebody else",
        ("what", "recorded", "now", "how", "between"),
        (
            (o.setting, _value(o.before), _value(o.after), o.how, f"{o.since} and {o.until}" if o.since else "")
            for o in record.observed
        ),
    )
    if before_after.pairs(record):
        yield from (f"![Before and after]({before_after.NAME})", "")
    yield from _section(
        "Levels", ("setting", "disk", "loaded", "running", "serving", "agree"), map(_level, record.levels)
    )
    yield from _section("Steps", ("", "step", "outcome", "took", "what it said"), _steps(record))
    yield from _section("Changes", ("change", "state", "summary", "backup on the host"), _changes(record))
    yield from _measured(record)
    yield from _section(
        "Findings", ("finding", "value", "interval", "n", "context", "method"), map(_finding, record.findings)
    )
    yield from _section(
        "Conclusions",
        ("kind", "text", "evidence"),
        ((c.kind.replace("_", " "), c.text, c.evidence) for c in record.conclusions),
    )
    if record.warnings:
        yield from ("## Warnings", "", *(f"- {_text(warning)}" for warning in record.warnings), "")
    if record.also_activates:
        yield from ("## The restart also activated", "", *(f"- {_code(word)}" for word in record.also_activates), "")
    if record.diff:
        yield from ("## Difference", "", *_fenced(record.diff, "diff"))
    if record.log:
        yield from (
            "## Log lines that mattered",
            "",
            *_fenced("\n".join(one_line(line.text) for line in record.log), "text"),
        )
    if record.next:
        yield from ("## To go on", "", *_fenced("\n".join(one_line(command) for command in record.next), "sh"))


def _measured(record: Record) -> Iterator[str]:
    """Every cell, and the chart that lies beside this report."""
    rows = [_cell_row(cell) for cell in record.cells]
    yield from _section(
        "Measured", ("cell", "context", "text", "tok/s", "avg commit", "step ms", "pairs", "refused", ""), rows
    )
    if any(cell.step == "sweep" for cell in record.cells) and any(f.name == "step_time_fit" for f in record.findings):
        yield from ("![Step time over context](sweep.svg)", "")
    shown = measured_load.REPORTED
    yield from _section("Load", shown, (measured_load.row(level, shown) for level in record.loads))
    beside = [(measured_load.name(level), told) for level in record.loads if (told := measured_load.beside(level))]
    yield from _section("Beside the load", ("level", "seen"), beside)
    if measured_load.chart_of(record):
        yield from ("![Throughput under load](load.svg)", "")


def _cell_row(cell: Cell) -> tuple[str, ...]:
    context = cell.context_tokens if cell.context_tokens is not None else cell.asked_tokens
    rate = "" if cell.rate_tok_s is None else figure(cell.rate_tok_s)
    if cell.rate_low is not None and cell.rate_high is not None:
        rate += f" ({figure(cell.rate_low)} to {figure(cell.rate_high)})"
    return (
        cell.name,
        "" if context is None else str(context),
        cell.text_class,
        rate,
        "" if cell.accept_length is None else f"{cell.accept_length:.2f}",
        "" if cell.step_ms is None else figure(cell.step_ms),
        str(cell.pairs),
        ", ".join(f"{count} {reason}" for reason, count in cell.reasons.items()),
        "; ".join([*([cell.state, cell.reason] if cell.state != "measured" else []), *cell.flags]),
    )


def _head(record: Record) -> Iterator[tuple[str, str]]:
    rows = {
        "outcome": f"{record.outcome.value}, exit {record.exit_code}"
        if record.exit_code is not None
        else record.outcome.value,
        "run": record.run,
        "parent": f"{record.purpose} of {record.parent}" if record.parent else "",
        "unit": record.unit,
        "engine": record.engine,
        "started": record.started_at,
        "took": span(record.duration_s) + (f" (simulated time, speed {record.speed:g})" if record.speed != 1.0 else ""),
        "operator": record.operator + (f" from {record.from_host}" if record.from_host else ""),
        "begun by": record.taken_over_from,
        "authenticated": record.operator_auth,
        "reason": record.reason,
        "ticket": record.ticket,
        "note": record.note,
        "variables": ", ".join(f"{name}={value}" for name, value in record.variables.items()),
        "runbook": f"sha256:{record.runbook_sha256}" if record.runbook_sha256 else "",
        "plan": f"sha256:{record.plan_sha256}" if record.plan_sha256 else "",
        "console": record.console_version,
    }
    return ((name, value) for name, value in rows.items() if value)


def _settings(record: Record) -> Iterator[tuple[str, ...]]:
    for setting in record.settings:
        state = "already so" if setting.already else "written" if setting.made else "not written"
        yield setting.setting, _value(setting.before), _value(setting.after), setting.path, state


def _level(level: LevelsRead) -> tuple[str, ...]:
    def seen(name: str, value: str | None) -> str:
        reason = level.reasons.get(name, "")
        return value if value is not None else f"n/a ({reason})" if reason else "n/a"

    four = (("disk", level.disk), ("loaded", level.loaded), ("running", level.running), ("serving", level.serving))
    return (level.named, *(seen(name, value) for name, value in four), "yes" if level.agree else "no")


def _steps(record: Record) -> Iterator[tuple[str, ...]]:
    for number, step in enumerate(record.steps, start=1):
        took = span(step.duration_s) if step.duration_s else ""
        yield (
            str(number),
            f"{step.id} ({step.uses})" if step.id != step.uses else step.id,
            step.outcome,
            took,
            step.message,
        )


def _changes(record: Record) -> Iterator[tuple[str, ...]]:
    for change in record.changes:
        yield f"{change.id} ({change.kind})", change.state, change.summary, change.backup


def _finding(finding: FindingMade) -> tuple[str, ...]:
    interval = (
        f"{figure(finding.low)} to {figure(finding.high)}"
        if finding.low is not None and finding.high is not None
        else ""
    )
    if interval and finding.confidence is not None:
        share = finding.confidence * 100 if finding.confidence <= 1 else finding.confidence
        interval += f" ({figure(share)} % {finding.interval or 'confidence'})"
    method = " ".join(part for part in (finding.method, finding.text_class, *finding.flags) if part)
    parts = [f"{figure(finding.value)} {finding.unit}".strip()]
    parts += [f"{name} {text}" for name, text in main_figures(finding.figures)]
    value = ", ".join(part for part in parts if part)
    context = "" if finding.context_tokens is None else str(finding.context_tokens)
    return finding.name, value, interval, "" if finding.n is None else str(finding.n), context, method


def _section(title: str, header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    lines = list(_table(header, rows))
    if lines:
        yield from (f"## {title}", "", *lines)


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    body = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    if body:
        yield from (f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *body, "")


def _value(value: str | None) -> str:
    return "absent" if value is None else value


def _cell(text: str) -> str:
    return _text(text, CELL_CHARACTERS).replace("|", "\\|")


def _text(text: str, limit: int = 0) -> str:
    """Text of a host in a paragraph: one line, and no markup of its own."""
    return _MARKUP.sub(r"\\\g<0>", one_line(text, limit))


def _code(text: str) -> str:
    flat = one_line(text)
    ticks = "`" * (max((len(run) for run in _runs_of_ticks(flat)), default=0) + 1)
    return f"{ticks} {flat} {ticks}" if "`" in flat else f"`{flat}`"


def _fenced(text: str, language: str) -> Iterator[str]:
    body = clean(text).rstrip("\n")
    fence = "`" * max(3, max((len(run) for run in _runs_of_ticks(body)), default=0) + 1)
    yield from (f"{fence}{language}", *body.split("\n"), fence, "")


def _runs_of_ticks(text: str) -> list[str]:
    runs: list[str] = []
    run = ""
    for char in f"{text} ":
        if char == "`":
            run += char
        elif run:
            runs.append(run)
            run = ""
    return runs
