"""When we ourselves sent requests to a target, by the runs on record."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from console.errors import ConsoleError
from console.results.history import History, Span
from console.results.store import record_of

# Steps that send requests to the engine, by the beginnings of their names.
SENDING = ("measure.", "gate.quality", "service.verify")


def own_load(
    path: Path, target: str, since: float, *, environment: Mapping[str, str] = os.environ
) -> tuple[tuple[float, float], ...]:
    """From when to when, seconds since the epoch by our clock, of runs that ended since then.

    Nothing without a repository; a record that cannot be read is passed over.
    """
    found: list[tuple[float, float]] = []
    try:
        history = History(path, environment)
        for row in history.rows(target, span=Span(since)):
            try:
                steps = record_of(history, row).steps
            except ConsoleError:
                continue
            moments = [(moment(step.started_at), step.duration_s) for step in steps if step.uses.startswith(SENDING)]
            found += [(began, began + took_s) for began, took_s in moments if began is not None]
    except ConsoleError:
        return tuple(found)
    return tuple(found)


def moment(text: str) -> float | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at.timestamp() if at.tzinfo is not None else None
