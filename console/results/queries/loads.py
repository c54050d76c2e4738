"""What the results repository holds of a target's loads and replays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from console.errors import ConsoleError
from console.results.history import History
from console.results.store import record_of
from console.schema.loads import Level

NAMED = "baseline "


def baseline_named(name: str) -> str:
    """What the runbook of a baseline is called that was given a name."""
    return f"measure-baseline.{name}" if name else "measure-baseline"


def known_loads(
    path: Path, target: str, against: str, *, environment: Mapping[str, str] = os.environ
) -> tuple[Level, ...]:
    """The measured levels of one earlier run of a target: `newest`, a run by the beginning of its id, `baseline NAME`.

    A baseline is the first run of its name: it stays what it was.

    Nothing where there is no such record, or it cannot be read: whoever asks says so.
    """
    try:
        history = History(path, environment)
        named = baseline_named(against.removeprefix(NAMED)) if against.startswith(NAMED) else ""
        rows = [row for row in history.rows() if row.target == target]
        for row in reversed(rows) if named else rows:
            if named:
                if not any(line.split(" ")[0] == named for line in row.lines.get("runbook", [])):
                    continue
            elif against != "newest" and not row.run.startswith(against):
                continue
            levels = tuple(level for level in record_of(history, row).loads if level.state == "measured")
            if levels:
                return levels
    except ConsoleError:
        return ()
    return ()
