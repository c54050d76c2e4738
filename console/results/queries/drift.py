"""`history drift`: a unit and its process as they are now, against what was recorded of them last."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from console.engines.base import Engine
from console.results.history import History
from console.results.stack import settings_in
from console.results.store import Seen, newest_settings
from console.schema.facts import Facts, LedgerEntry
from console.secrets import MASK
from console.settings.flags import sought
from console.settings.resolve import argv_on_disk, environment_on_disk, unit_of
from console.untrusted import decode

RESTART = "restart"
BY_HAND = "by hand"
# What configuration management writes at the head of the files it owns.
_OWNERS = (
    ("Ansible", re.compile(r"ansible[ _-]managed|managed by ansible", re.I)),
    ("Puppet", re.compile(r"managed by puppet|puppet managed", re.I)),
    ("Chef", re.compile(r"(?:generated|managed) by chef", re.I)),
    ("Salt", re.compile(r"managed by salt|salt managed", re.I)),
    ("NixOS", re.compile(r"/nix/store/")),
    ("configuration management", re.compile(r"do not edit|will be overwritten|automatically generated", re.I)),
)
HEAD_BYTES = 4096


@dataclass(frozen=True)
class Drift:
    """One thing that is not as recorded. `where`: disk · running · disk and running · file · process."""

    setting: str
    recorded: str | None
    now: str | None
    where: str
    how: str
    path: str = ""
    by_run: str = ""  # a run that the host remembers, whose record is not here


@dataclass(frozen=True)
class Drifted:
    """A target against its last record; without one nothing can be said, and `why` says so."""

    target: str
    looked_at: str
    recorded_at: str = ""
    recorded_run: str = ""
    drifts: tuple[Drift, ...] = ()
    why: str = ""

    @property
    def is_as_recorded(self) -> bool:
        return not self.drifts and not self.why


def drift(history: History, facts: Facts, engine: Engine) -> Drifted:
    """Compare what is so with the target's newest record that saw it."""
    seen = newest_settings(history, facts.target)
    if seen is None:
        return Drifted(facts.target, facts.read_at, why="no record says what was so: console history adopt makes one")
    found = [*_settings(facts, engine, seen), *_files(facts, seen), *_process(facts, seen)]
    named = {one.path for one in found if one.where != "file"}
    kept = tuple(one for one in found if one.where != "file" or one.path not in named)
    return Drifted(facts.target, facts.read_at, seen.at, seen.run, kept)


def _settings(facts: Facts, engine: Engine, seen: Seen) -> list[Drift]:
    unit = unit_of(facts)
    disk = settings_in(engine.name, argv_on_disk(unit, environment_on_disk(unit)) or ())
    running = settings_in(engine.name, facts.process.argv) if facts.process.pid else {}
    found = []
    for name in sorted(seen.settings.keys() | disk.keys() | running.keys()):
        recorded = seen.settings.get(name)
        on_disk = bool(disk) and not _same(engine, name, recorded, disk.get(name))
        in_process = bool(running) and not _same(engine, name, recorded, running.get(name))
        if not on_disk and not in_process:
            continue
        now = (disk if on_disk else running).get(name)
        where = "disk and running" if on_disk and in_process else "disk" if on_disk else "running"
        path, text = _decided_in(facts, now)
        by_run = next((entry.run for entry in _later(facts, seen, name)), "")
        found.append(Drift(name, recorded, now, where, _how(facts, seen, name, now, text), path, by_run))
    return found


def _same(engine: Engine, name: str, one: str | None, other: str | None) -> bool:
    if one is None or other is None or MASK in one or MASK in other:
        return one == other or (one is not None and other is not None)  # masked values cannot be compared here
    return sought(engine, setting=name).same(engine, one, other)


def _decided_in(facts: Facts, value: str | None) -> tuple[str, str]:
    """The unit's file that most likely holds the value: the last one that says it, else the fragment."""
    files = [file for file in facts.files if not file.missing]
    holding = [file for file in files if value and value.encode() in file.content]
    chosen = holding[-1] if holding else next(iter(files), None)
    return (chosen.path, decode(chosen.content[:HEAD_BYTES])) if chosen else ("", "")


def _how(facts: Facts, seen: Seen, name: str, now: str | None, text: str) -> str:
    """Who it was, as far as the host shows."""
    if later := _later(facts, seen, name):
        return f"by run {later[0].run} of {later[0].operator or 'somebody'}, whose record is not here"
    made = [
        one for one in seen.document.get("settings", ())
        if isinstance(one, Mapping) and one.get("made") and one.get("setting") == name
    ]  # fmt: skip
    back = bool(made) and made[0].get("before") == now
    owner = next((name for name, mark in _OWNERS if mark.search(text)), "")
    if owner:
        return f"reverted by its owner ({owner})" if back else f"by its owner ({owner})"
    return "put back by hand" if back else BY_HAND


def _later(facts: Facts, seen: Seen, name: str) -> list[LedgerEntry]:
    """Runs that the host remembers and the records do not, and that were about this setting."""
    return [entry for entry in facts.ledger if entry.run > seen.run and name in entry.summary]


def _files(facts: Facts, seen: Seen) -> list[Drift]:
    """Files that decide the unit and are not as they were; only where the record saw them last."""
    document = seen.document
    wrote = any(isinstance(one, Mapping) and one.get("state") == "made" for one in document.get("changes", ()))
    recorded = document.get("digests_after") or ({} if wrote else document.get("digests_before")) or {}
    if not recorded:
        return []
    now = {file.path: file for file in facts.files if not file.missing}
    found = []
    for path in sorted(recorded.keys() | now.keys()):
        before, file = recorded.get(path), now.get(path)
        after = file.sha256 if file else None
        if before != after and (file is None or file.kind != "source"):
            text = decode(file.content[:HEAD_BYTES]) if file else ""
            owner = next((name for name, mark in _OWNERS if mark.search(text)), "")
            how = f"by its owner ({owner})" if owner else BY_HAND
            found.append(Drift(f"file {path}", _short(before), _short(after), "file", how, path))
    return found


def _process(facts: Facts, seen: Seen) -> list[Drift]:
    """Whether another start of the unit runs than the one that was recorded."""
    recorded = str(seen.document.get("invocation_after") or seen.document.get("invocation_before") or "")
    now = facts.unit.invocation_id
    if not recorded or recorded == now or any(entry.run > seen.run for entry in facts.ledger):
        return []
    crashed = facts.unit.n_restarts
    how = f"by systemd, {crashed} times" if crashed else "by somebody else, or at a boot"
    return [Drift(RESTART, recorded[:8], now[:8] or None, "process", how)]


def _short(digest: str | None) -> str | None:
    return digest[:12] if digest else None
