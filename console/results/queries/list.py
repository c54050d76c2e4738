"""`history list`: the newest runs, from the trailers of their commits alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from console.clock import stamp
from console.errors import StateError
from console.results.git import Git
from console.schema.names import NAME

_FORM = "%x1e%H%x1f%ct%x1f%s%x1f%(trailers:only,unfold)"


@dataclass(frozen=True)
class HistoryRow:
    """One committed record. `at` is when it was committed, RFC 3339 in UTC."""

    sha: str
    at: str
    run: str
    target: str
    runbook: str
    outcome: str
    operator: str
    subject: str
    changes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    reason: str = ""
    ticket: str = ""
    parent: str = ""
    simulated: bool = False


def list_records(
    path: Path, *, limit: int = 20, target: str = "", environment: Mapping[str, str] = os.environ
) -> list[HistoryRow]:
    """The newest records, newest first; of one target (`host/service` or `host`) where named.

    Raises StateError where there is no repository. Commits that are no records of ours are passed over.
    """
    folder = path.expanduser().resolve()
    if not os.path.lexists(folder / ".git"):
        raise StateError("no results repository here yet", where=str(folder), hint="the first run makes it")
    parts = target.split("/") if target else []
    if len(parts) > 2 or not all(NAME.fullmatch(part) for part in parts):
        raise StateError(f"{target!r} is not a target: host/service or host", where=str(folder))
    git = Git(folder, environment)
    pathspec = ("--", f"{target}/") if target else ()
    answer = git.run("log", f"-{max(1, limit)}", "--grep=^Run-Id: ", f"--format={_FORM}", *pathspec)
    if not answer.ok:
        if "does not have any commits yet" in answer.err:
            return []
        raise StateError(f"git log: {answer.said}", where=str(folder), hint=f"git -C {folder} fsck")
    rows = (_row(text) for text in answer.out.split("\x1e") if text.strip())
    return [row for row in rows if row is not None]


def _row(text: str) -> HistoryRow | None:
    parts = text.split("\x1f", 3)
    if len(parts) != 4:
        return None
    sha, seconds, subject, block = parts
    values: dict[str, list[str]] = {}
    for line in block.splitlines():
        key, colon, value = line.partition(": ")
        if colon:
            values.setdefault(key.lower(), []).append(value.strip())

    def one(key: str) -> str:
        return values.get(key, [""])[0]

    if not one("run-id") or not one("target"):
        return None
    return HistoryRow(
        sha=sha.strip(),
        at=stamp(datetime.fromtimestamp(int(seconds), UTC)).replace(".000Z", "Z"),
        run=one("run-id"),
        target=one("target"),
        runbook=one("runbook").partition(" ")[0],
        outcome=one("outcome"),
        operator=one("operator"),
        subject=subject,
        changes=tuple(values.get("change", [])),
        findings=tuple(values.get("finding", [])),
        reason=one("reason"),
        ticket=one("ticket"),
        parent=one("parent"),
        simulated=one("simulated") == "yes",
    )
