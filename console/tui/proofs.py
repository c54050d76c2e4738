"""Which invocation each run proved: the process that runs now may be another one."""

from __future__ import annotations

from collections.abc import Mapping

from console.errors import ConsoleError
from console.runs.directory import RunDirectory
from console.runs.log import read_log
from console.schema.events import Verified
from console.tui.session import Session

NEWEST = 50
WITHOUT = ("log.line", "step.progress", "facts.read", "finding.made", "edit.planned")


def proven(session: Session, known: Mapping[str, str]) -> Mapping[str, str]:
    """Run → InvocationID, of the newest runs of this machine that have ended; read once each."""
    found = dict(known)
    for summary in session.found_runs[:NEWEST]:
        if summary.alive or summary.id in found:
            continue
        try:
            events = read_log(RunDirectory(session.base / summary.id).events_path, without=WITHOUT).events
        except ConsoleError:
            continue
        said = [event.invocation_id for event in events if isinstance(event, Verified)]
        found[summary.id] = said[-1] if said else ""
    return found
