"""Who else is touched by this plan."""

from __future__ import annotations

from collections.abc import Sequence

from console.planning.policy import decides_others
from console.schema.facts import Facts
from console.schema.plan import FileEdit


def also_hit(facts: Facts, edits: Sequence[FileEdit], *, reloads: bool, restarts: bool) -> list[str]:
    """Units and people that a restart, a reload or an edit reaches besides this unit."""
    said = []
    if restarts and facts.unit.required_by:
        said.append(f"stops and starts with it: {', '.join(facts.unit.required_by)}")
    if reloads:
        said.append("daemon-reload reads every unit of the host again")
    for edit in edits:
        if edit.real_path != edit.path:
            said.append(f"{edit.path} is a link: {edit.real_path} is what changes")
        others = decides_others(edit.path)
        if others:
            said.append(f"{edit.path} decides {others}")
    return said


def undo(edits: Sequence[FileEdit], state_folder: str, load: str) -> list[str]:
    """What putting it back takes."""
    if not edits:
        return ["nothing to put back"]
    return [f"file at once, service after {load}; backup and undo.sh in {state_folder} on the host"]
