"""The runs of this machine: which go on, which are open and why, and what to type next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from console.errors import StateError, UsageError
from console.runs.directory import RUN_ID, RunDirectory
from console.runs.log import read_log
from console.runs.state import RunState, fold
from console.schema.outcome import Outcome

# What a listing does not need, and what most of a log consists of.
_NOT_NEEDED = ("step.progress", "log.line", "facts.read", "levels.read", "finding.made", "conclusion.made")
_SETTLES = frozenset({Outcome.VERIFIED, Outcome.VERIFIED_INCOMPLETE, Outcome.ROLLED_BACK})
_STANDS = frozenset({Outcome.VERIFIED, Outcome.VERIFIED_INCOMPLETE})
_WHY = {
    Outcome.APPLIED_UNVERIFIED: "changed, not proven to serve",
    Outcome.UNKNOWN: "it is not known whether a change happened",
    Outcome.ROLLBACK_FAILED: "putting the old state back is not finished, or not proven",
}
GONE = "its process is gone"
PENDING = "rollback pending"  # in the message of a way back for which the host could not be reached
ANY = "*"
RECOVER = "console recover"


@dataclass(frozen=True)
class RunSummary:
    """One run, as a line of `console runs` shows it.

    `open` targets wait for somebody, `why` says for what. `needs_recover`: the process is gone and nobody closed the
    run. `uncommitted`: targets whose record is kept here and was refused by the results repository. `damaged`: what of
    its directory could not be read. Times are RFC 3339 in UTC.
    """

    id: str
    path: str
    runbook: str = ""
    title: str = ""
    purpose: str = "run"
    parent: str = ""
    operator: str = ""
    reason: str = ""
    started: str = ""
    finished: str = ""
    targets: tuple[str, ...] = ()
    outcomes: Mapping[str, str] = field(default_factory=dict)
    exit_code: int | None = None
    alive: bool = False
    needs_recover: bool = False
    uncommitted: tuple[str, ...] = ()
    open_targets: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)  # target → what puts it into its balancer again
    next: tuple[str, ...] = ()
    damaged: str = ""

    @property
    def open(self) -> bool:
        return bool(self.open_targets)

    @property
    def why(self) -> str:
        """Why the run is open, in one line; empty where it is not."""
        reasons = dict.fromkeys(self.open_targets.values())
        return "; ".join(reasons)

    def document(self) -> dict[str, Any]:
        """The summary as JSON has it."""
        return asdict(self) | {"open": self.open, "why": self.why}


def list_runs(base: Path) -> list[RunSummary]:
    """Every run under `base`, newest first. Never raises for what is damaged: that is said in its place."""
    try:
        names = sorted((entry.name for entry in base.iterdir() if RUN_ID.fullmatch(entry.name)), reverse=True)
    except OSError:
        return []
    settled: dict[str, set[str]] = {}  # target → the earlier runs that a later one settled; ANY: all of them
    found: list[RunSummary] = []
    for name in names:
        summary = summarise(RunDirectory(base / name))
        found.append(_without_settled(summary, settled))
        for target in summary.targets:
            later = settled.setdefault(target, set())
            outcome = summary.outcomes.get(target)
            if outcome in _SETTLES:
                later.add(ANY)
            elif summary.purpose == "rollback" and outcome == Outcome.NO_CHANGE:
                later.add(ANY)  # nothing was left to put back, and the old state was proven
            elif summary.parent and (outcome == Outcome.NO_CHANGE or summary.id in later):
                later.add(summary.parent)
    return found


def _without_settled(summary: RunSummary, settled: Mapping[str, set[str]]) -> RunSummary:
    """Take the targets away that a later run settled. What such a run left to commit still needs `recover`."""
    left = {
        target: why
        for target, why in summary.open_targets.items()
        if not settled.get(target, set()) & {ANY, summary.id}
    }
    if left == summary.open_targets:
        return summary
    commands = summary.next if left else (RECOVER,) if summary.needs_recover else ()
    return replace(summary, open_targets=left, next=commands)


def summarise(directory: RunDirectory) -> RunSummary:
    """One run by itself, without regard to later ones."""
    alive = directory.alive()
    state, damaged = RunState(), ""
    try:
        log = read_log(directory.events_path, without=_NOT_NEEDED)
        state = fold(log.events)
        damaged = f"lines torn or damaged in its log: {log.garbage}" if log.garbage else ""
    except StateError as error:
        damaged = "" if alive else error.message
    started, finished = state.started, state.finished
    if started is None:
        # Nothing is changed before run.started is on disk, so there is nothing to settle.
        note = damaged or ("" if alive else "it has no run.started: nothing was begun")
        return RunSummary(id=directory.run_id, path=str(directory.path), alive=alive, damaged=note)
    names = tuple(dict.fromkeys([*started.targets, *state.targets]))
    outcomes = dict(finished.outcomes) if finished else {name: state.outcome(name).value for name in names}
    orphan = state.orphan(alive)
    waiting = _open_targets(state, names, outcomes, alive=alive)
    return RunSummary(
        id=directory.run_id,
        path=str(directory.path),
        runbook=started.runbook,
        title=started.title,
        purpose=started.purpose,
        parent=started.parent,
        operator=started.operator,
        reason=started.reason,
        started=started.ts,
        finished=finished.ts if finished else "",
        targets=names,
        outcomes={} if alive and finished is None else outcomes,
        exit_code=finished.exit_code if finished else None,
        alive=alive,
        needs_recover=orphan,
        uncommitted=_uncommitted(state),
        open_targets=waiting,
        left_out={name: seen.left_out.by_hand for name, seen in state.targets.items() if seen.left_out is not None},
        next=_next(state, orphan=orphan, waiting=waiting),
        damaged=damaged,
    )


def _uncommitted(state: RunState) -> tuple[str, ...]:
    """A hook, a key or a lock refused them; `--no-commit` runs never tried."""
    return tuple(
        name for name, target in state.targets.items() if target.committed is not None and not target.committed.sha
    )


def _open_targets(
    state: RunState, names: tuple[str, ...], outcomes: Mapping[str, str], *, alive: bool
) -> dict[str, str]:
    """The targets that wait for somebody, each with the reason."""
    if alive and state.finished is None:
        return {}
    waiting: dict[str, str] = {}
    for name in names:
        why = _WHY.get(_outcome(outcomes.get(name, "")))
        target = state.targets.get(name)
        if state.orphan(alive) and target is not None and target.begun:
            why = f"{GONE}: {why}" if why else GONE
        undo = target.steps.get("undo") if target is not None else None
        if why and undo is not None and PENDING in undo.message:
            why = f"{PENDING}: {why}"
        why = why or _temporary(state, name, outcomes.get(name, ""))
        if why:
            waiting[name] = why
    return waiting


def _temporary(state: RunState, name: str, outcome: str) -> str:
    """A change that lasts until something else writes the file again: its source must say the same, or it goes back."""
    started, target = state.started, state.targets.get(name)
    if started is None or not started.temporary or target is None or not target.changes or outcome not in _STANDS:
        return ""
    until = f" until {started.until}" if started.until else ""
    return f"temporary{until} ({started.temporary}): what else writes the file must say the same"


def _outcome(word: str) -> Outcome:
    try:
        return Outcome(word)
    except ValueError:
        return Outcome.UNKNOWN if word else Outcome.NOT_STARTED


def _next(state: RunState, *, orphan: bool, waiting: Mapping[str, str]) -> tuple[str, ...]:
    commands = [RECOVER] if orphan else []
    if waiting:
        said = [
            command
            for name in waiting
            if (end := state.targets.get(name)) and end.finished
            for command in end.finished.next
        ]
        commands += said or [f"console resume {state.run}", f"console rollback {state.run}"]
    return tuple(dict.fromkeys(commands))


def find_run(base: Path, prefix: str) -> RunDirectory:
    """The run whose id begins so. Raises UsageError where none does, or several do."""
    wanted = prefix.strip().upper()
    try:
        names = sorted((entry.name for entry in base.iterdir() if RUN_ID.fullmatch(entry.name)), reverse=True)
    except OSError:
        names = []
    if not names:
        raise UsageError("no run of this machine yet", where=str(base))
    matching = [name for name in names if name.startswith(wanted)] if wanted else names
    if len(matching) == 1:
        return RunDirectory(base / matching[0])
    if not matching:
        raise UsageError(f"no run {prefix!r}", where=str(base), hint=f"console runs; the newest is {names[0]}")
    shown = ", ".join(matching[:5]) + (", …" if len(matching) > 5 else "")
    raise UsageError(f"{len(matching)} runs begin with {prefix!r}: {shown}", hint="give more of the id")
