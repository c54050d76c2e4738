"""How a target's run ended, as one pure function, and the exit code that follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

StepOutcome = Literal["ok", "changed", "skipped", "refused", "failed", "aborted", "unknown"]
Undone = Literal["no", "proven", "unfinished"]
Ended = Literal["done", "failed", "aborted"]


class Outcome(StrEnum):
    NOT_STARTED = "not-started"
    UNKNOWN = "unknown"
    ROLLBACK_FAILED = "rollback-failed"
    ROLLED_BACK = "rolled-back"
    VERIFIED = "verified"
    VERIFIED_INCOMPLETE = "verified-incomplete"
    APPLIED_UNVERIFIED = "applied-unverified"
    FAILED_UNCHANGED = "failed-unchanged"
    ABORTED_UNCHANGED = "aborted-unchanged"
    MEASURED = "measured"
    NO_CHANGE = "no-change"


# The code of each outcome; `failed-unchanged` takes the error's own and `not-started` has none.
EXIT_CODES: dict[Outcome, int | None] = {
    Outcome.NOT_STARTED: None,
    Outcome.UNKNOWN: 9,
    Outcome.ROLLBACK_FAILED: 5,
    Outcome.ROLLED_BACK: 4,
    Outcome.VERIFIED: 0,
    Outcome.VERIFIED_INCOMPLETE: 10,
    Outcome.APPLIED_UNVERIFIED: 3,
    Outcome.FAILED_UNCHANGED: 1,
    Outcome.ABORTED_UNCHANGED: 130,
    Outcome.MEASURED: 0,
    Outcome.NO_CHANGE: 0,
}

# Worst first: a fleet run exits with the first of these that any target has.
FLEET_ORDER = (9, 5, 3, 4, 7, 6, 8, 1, 10, 130, 0)

# Ended so that somebody must still act; a later run on the unit that settles it closes it.
OPEN_OUTCOMES = frozenset({Outcome.UNKNOWN, Outcome.ROLLBACK_FAILED, Outcome.APPLIED_UNVERIFIED})


@dataclass(frozen=True)
class Ending:
    """What decides an outcome.

    begun: the target's run started. certain: we know whether every change happened. changed: a change was made and
    not put back before a process ran it (backups, locks and guards do not count). live: a process runs it.
    proven: shown to serve after the last change. undone: whether it was put back, and the old state proven serving.
    measured: findings were made by a run that changes nothing. ended: done, failed or aborted (a no is aborted).
    """

    begun: bool = True
    certain: bool = True
    changed: bool = False
    live: bool = False
    proven: bool = False
    undone: Undone = "no"
    measured: bool = False
    ended: Ended = "done"


def decide(ending: Ending) -> Outcome:
    """The first line that fits decides."""
    if not ending.begun:
        return Outcome.NOT_STARTED
    if not ending.certain:
        return Outcome.UNKNOWN
    if ending.undone == "unfinished":
        return Outcome.ROLLBACK_FAILED
    if ending.undone == "proven":
        return Outcome.ROLLED_BACK
    if ending.changed and ending.proven:
        return Outcome.VERIFIED if ending.ended == "done" else Outcome.VERIFIED_INCOMPLETE
    if ending.changed:
        return Outcome.APPLIED_UNVERIFIED
    if ending.ended == "failed":
        return Outcome.FAILED_UNCHANGED
    if ending.ended == "aborted":
        return Outcome.ABORTED_UNCHANGED
    return Outcome.MEASURED if ending.measured else Outcome.NO_CHANGE


def exit_code(outcome: Outcome, error_exit: int = 1) -> int | None:
    """The exit code of one target; `error_exit` is the code of the error that ended it (1, 6, 7 or 8)."""
    if outcome is Outcome.FAILED_UNCHANGED:
        return error_exit if error_exit in (1, 6, 7, 8) else 1
    return EXIT_CODES[outcome]


def worst(codes: Iterable[int | None]) -> int:
    """The exit code of a run over several targets; targets that were not started do not count."""
    ranked = [code for code in codes if code is not None]
    return min(ranked, key=lambda code: FLEET_ORDER.index(code) if code in FLEET_ORDER else 0, default=0)
