"""Which targets a run of this machine is measuring: looking at them would be part of what is measured."""

from __future__ import annotations

from console.errors import ConsoleError
from console.runs.directory import RunDirectory
from console.runs.log import read_log
from console.runs.state import fold
from console.tui.session import Session

# Runs that go on are among the newest; older ones are not asked for every second.
NEWEST = 30


def measured_now(session: Session) -> dict[str, str]:
    """Target → which run."""
    try:
        names = sorted((entry.name for entry in session.base.iterdir()), reverse=True)[:NEWEST]
    except OSError:
        return {}
    held: dict[str, str] = {}
    for name in names:
        directory = RunDirectory(session.base / name)
        if directory.alive():
            held |= dict.fromkeys(measured_by(directory), f"measured by {name}")
    return held


def measured_by(directory: RunDirectory) -> list[str]:
    """The targets at which a run that goes on is at a step that measures."""
    try:
        events = read_log(directory.events_path, without=("log.line", "step.progress")).events
    except ConsoleError:
        return []
    steps = {name: target.current_step() for name, target in fold(events).targets.items()}
    return [name for name, step in steps.items() if step is not None and step.uses.startswith("measure.")]
