"""`history list`: the newest runs, from the trailers of their commits alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from console.results.history import History, Row, Span


@dataclass(frozen=True)
class HistoryRow:
    """One committed record. `at` is when the run ended, RFC 3339 in UTC."""

    sha: str
    at: str
    run: str
    target: str
    runbook: str
    outcome: str
    operator: str
    subject: str
    changes: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    unit: str = ""
    reason: str = ""
    ticket: str = ""
    parent: str = ""
    simulated: bool = False


@dataclass(frozen=True)
class Filter:
    """Which records are wanted; what is empty does not choose. `text` is looked for in the whole message."""

    target: str = ""
    unit: str = ""
    runbook: str = ""
    outcome: str = ""
    operator: str = ""
    setting: str = ""
    text: str = ""
    since: str = ""
    until: str = ""

    @property
    def patterns(self) -> list[str]:
        """What git itself passes over, so that a long history is read at its speed."""
        found = [
            f"^{key}: {basic(value)}"
            for key, value in (
                ("Unit", self.unit),
                ("Runbook", self.runbook),
                ("Outcome", self.outcome),
                ("Operator", self.operator),
            )
            if value
        ]
        if self.setting:
            found.append(rf"^\(Change\|Observed\|Setting\): {basic(self.setting)} ")
        return found + ([basic(self.text)] if self.text else [])

    def wants(self, row: Row) -> bool:
        return (
            row.line("unit").startswith(self.unit)
            and (not self.runbook or _runbook(row) == self.runbook)
            and (not self.outcome or row.line("outcome") == self.outcome)
            and (not self.operator or row.line("operator").lower().startswith(self.operator.lower()))
            and (not self.setting or self.setting in _named(row))
        )


def _runbook(row: Row) -> str:
    return row.line("runbook").partition(" sha256:")[0]


def _named(row: Row) -> set[str]:
    """The settings that a record changed, found or wrote down."""
    told = row.told
    return {change.setting for change in (*told.changed, *told.observed)} | {name for name, _ in told.settings}


def list_records(
    path: Path,
    *,
    limit: int = 20,
    target: str = "",
    only: Filter | None = None,
    environment: Mapping[str, str] = os.environ,
) -> list[HistoryRow]:
    """The newest records that are wanted, newest first; of one target (`host/service` or `host`) where named.

    Raises StateError where there is no repository, UsageError for a time that git does not understand.
    """
    return list(find(History(path, environment), only or Filter(target=target), limit=max(1, limit)))


def find(history: History, only: Filter, *, limit: int = 0) -> Iterator[HistoryRow]:
    """The records that are wanted, as they are read."""
    span = Span(
        history.moment(only.since) if only.since else None,
        history.moment(only.until, "--until") if only.until else None,
    )
    found = 0
    for row in history.rows(only.target, span=span, patterns=only.patterns):
        if only.wants(row):
            yield shown(row)
            found += 1
            if found == limit:
                return


def shown(row: Row) -> HistoryRow:
    """The lines as they were written: a long history is listed without reading each of them."""
    lines = row.lines
    return HistoryRow(
        sha=row.sha,
        at=row.at,
        run=row.run,
        target=row.target,
        runbook=_runbook(row),
        outcome=row.line("outcome"),
        operator=row.line("operator"),
        subject=row.subject,
        changes=tuple(lines.get("change", ())),
        observed=tuple(lines.get("observed", ())),
        findings=tuple(lines.get("finding", ())),
        unit=row.line("unit"),
        reason=row.line("reason"),
        ticket=row.line("ticket"),
        parent=row.line("parent"),
        simulated=row.line("simulated") == "yes",
    )


def basic(text: str) -> str:
    """Text as a basic regular expression that matches it and nothing else."""
    return re.sub(r"[.\[\]*^$\\]", r"\\\g<0>", text)
