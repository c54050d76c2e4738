"""Who else is touched by this plan: whoever reads an edited file, moves with the restart, or restarts the unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from console.schema.change import ABSENT
from console.schema.facts import Facts
from console.schema.plan import FileEdit
from console.schema.surroundings import Surroundings
from console.settings.drop_in import decides_others

# A file system that other hosts mount, too, by its type in mountinfo(5): what systemd takes for one (fstype_is_network
# in mountpoint-util.c, which looks past `fuse.`, too), and what clusters of GPUs and clouds have besides.
_NETWORK = re.compile(
    r"(?:fuse\.)?(?:nfs\d?|cifs|smb3|smbfs|afs|ceph|davfs2?|gfs2?|glusterfs|lustre|ncpfs|ncp|ocfs2|pvfs2|orangefs|sshfs"
    r"|9p|virtiofs|beegfs|gpfs|wekafs|panfs|dfuse|juicefs|s3fs|gcsfuse|blobfuse2?|goofys|rclone|seaweedfs|cephfs|mfs)\Z"
)
# What every start of a service brings; nobody is hit by it.
_ALWAYS = frozenset({"shutdown.target", "sysinit.target", "system.slice", "basic.target", "-.mount"})


@dataclass(frozen=True)
class Reached:
    """Somebody besides this unit who reads an edited file, and how that is known."""

    path: str
    who: str
    how: str = ""

    @property
    def text(self) -> str:
        return f"{self.who} reads {self.path}" + (f" ({self.how})" if self.how else "")


def reached(facts: Facts, edits: Sequence[FileEdit]) -> tuple[Reached, ...]:
    """Every other unit, instance and host that an edit reaches: once each, in the order of the edits."""
    found: dict[str, Reached] = {}
    for edit in edits:
        for each in facts.around.shared:
            if each.path in (edit.path, edit.real_path) and each.unit != facts.unit.id:
                found.setdefault(each.unit, Reached(edit.path, each.unit, _known_by(each.named_in)))
        if edit.sha256_before == ABSENT:
            for unit in facts.drop_in_sharers:
                found.setdefault(unit, Reached(edit.path, unit, "its folder of drop-ins is the same one"))
        place = facts.around.place(edit.real_path)
        if _NETWORK.match(place.fstype):
            who = f"every host that mounts {place.source}"
            found.setdefault(who, Reached(edit.path, who, place.fstype))
    return tuple(found.values())


def _known_by(named_in: str) -> str:
    return f"{named_in} names it" if named_in else ""


def also_hit(facts: Facts, edits: Sequence[FileEdit], *, reloads: bool, restarts: bool) -> list[str]:
    """Units and people that a restart, a reload or an edit reaches besides this unit."""
    said = [*(_moved(facts) if restarts else ()), *(_reloaded(facts.around) if reloads else ())]
    for edit in edits:
        if edit.real_path != edit.path:
            said.append(f"{edit.path} is a link: {edit.real_path} is what changes")
        others = decides_others(edit.path) or decides_others(edit.real_path)
        if others:
            said.append(f"{edit.path} decides {others}")
    said += [f"{each.text}: takes it at its next start" for each in reached(facts, edits)]
    return said


def _moved(facts: Facts) -> list[str]:
    """What systemd stops or starts with a restart of this unit, and what may restart it meanwhile."""
    unit, relations = facts.unit, facts.around.relations
    said = []
    together = dict.fromkeys((*unit.required_by, *unit.triggers_with))
    if together:
        said.append(f"stops and starts with it: {', '.join(together)}")
    conflicts = [name for name in relations.conflicts if name not in _ALWAYS]
    if conflicts:
        said.append(f"cannot run beside it (Conflicts=), so its start stops them: {', '.join(conflicts)}")
    starts = [name for name in relations.starts if name not in _ALWAYS and not name.endswith((".slice", ".mount"))]
    if starts:
        said.append(f"started with it where they do not run: {', '.join(starts)}")
    if relations.triggered_by:
        said.append(f"may start it meanwhile: {', '.join(relations.triggered_by)}")
    if facts.around.restarted_by:
        said.append(f"has a command that restarts or stops it: {', '.join(facts.around.restarted_by)}")
    if relations.watchdog_s:
        said.append(f"systemd's watchdog ends it after {relations.watchdog_s:.0f} s without a sign of life")
    return said


def _reloaded(around: Surroundings) -> list[str]:
    """What a daemon-reload brings besides this unit."""
    said = ["daemon-reload reads every unit of the host again"]
    if around.stale:
        said.append(f"edited on disk and not read yet, goes live with the reload: {', '.join(around.stale)}")
    why = "may lose its GPUs: its cgroup is systemd's, its devices are not named"
    return [*said, *(f"container {each.name} ({each.tool}) {why}" for each in around.containers)]


def waiting_for_reload(around: Surroundings) -> list[str]:
    """What a daemon-reload would change besides this unit: it needs --accept-pending."""
    return [*(f"unit {name}" for name in around.stale), *(f"container {each.name}" for each in around.containers)]


def undo(edits: Sequence[FileEdit], state_folder: str, load: str) -> list[str]:
    """What putting it back takes."""
    if not edits:
        return ["nothing to put back"]
    made = [f"{edit.path} is taken away again" for edit in edits if edit.sha256_before == ABSENT]
    return [*made, f"file at once, service after {load}; backup and undo.sh in {state_folder} on the host"]
