"""What the results repository holds of a target's loads and replays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from console.errors import ConsoleError
from console.results.history import History
from console.results.store import record_of
from console.schema.loads import Level


def known_loads(
    path: Path, target: str, against: str, *, environment: Mapping[str, str] = os.environ
) -> tuple[Level, ...]:
    """The measured levels of one earlier run of a target: `newest`, or a run by the beginning of its id.

    Nothing where there is no such record, or it cannot be read: whoever asks says so.
    """
    try:
        history = History(path, environment)
        for row in history.rows():
            if row.target != target or not (against == "newest" or row.run.startswith(against)):
                continue
            levels = tuple(level for level in record_of(history, row).loads if level.state == "measured")
            if levels:
                return levels
    except ConsoleError:
        return ()
    return ()
