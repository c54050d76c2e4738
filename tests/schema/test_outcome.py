"""The outcome of a target's run, over every combination there is."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import pytest

from console.schema.outcome import (
    EXIT_CODES,
    FLEET_ORDER,
    OPEN_OUTCOMES,
    Ended,
    Ending,
    Outcome,
    Undone,
    decide,
    exit_code,
    worst,
)

UNDONE: tuple[Undone, ...] = ("no", "proven", "unfinished")
ENDED: tuple[Ended, ...] = ("done", "failed", "aborted")


def every_ending() -> Iterator[Ending]:
    for flags in itertools.product((False, True), repeat=6):
        for undone, ended in itertools.product(UNDONE, ENDED):
            begun, certain, changed, live, proven, measured = flags
            yield Ending(begun, certain, changed, live, proven, undone, measured, ended)


def expected(e: Ending) -> str:
    """The table once more, from the last line up: what is decided first overwrites."""
    word = "no-change"
    if e.measured:
        word = "measured"
    if e.ended == "aborted":
        word = "aborted-unchanged"
    if e.ended == "failed":
        word = "failed-unchanged"
    if e.changed and not e.proven:
        word = "applied-unverified"
    if e.changed and e.proven and e.ended in ("failed", "aborted"):
        word = "verified-incomplete"
    if e.changed and e.proven and e.ended == "done":
        word = "verified"
    if e.undone == "proven":
        word = "rolled-back"
    if e.undone == "unfinished":
        word = "rollback-failed"
    if not e.certain:
        word = "unknown"
    if not e.begun:
        word = "not-started"
    return word


def test_every_combination() -> None:
    endings = list(every_ending())
    assert len(endings) == 2**6 * 9
    assert {ending: decide(ending).value for ending in endings} == {ending: expected(ending) for ending in endings}
    assert {decide(ending) for ending in endings} == set(Outcome)


def test_exit_0_is_never_said_of_what_is_not_known_or_not_well() -> None:
    for ending in every_ending():
        if exit_code(decide(ending)) == 0:
            assert ending.begun
            assert ending.certain
            assert ending.undone == "no"
            assert ending.ended == "done"
            assert ending.proven or not ending.changed


def test_live_changes_the_words_and_not_the_outcome() -> None:
    for ending in every_ending():
        assert decide(ending) is decide(dataclasses.replace(ending, live=not ending.live))


def test_every_outcome_has_its_code() -> None:
    assert set(EXIT_CODES) == set(Outcome)
    assert {outcome.value: code for outcome, code in EXIT_CODES.items()} == {
        "not-started": None,
        "unknown": 9,
        "rollback-failed": 5,
        "rolled-back": 4,
        "verified": 0,
        "verified-incomplete": 10,
        "applied-unverified": 3,
        "failed-unchanged": 1,
        "aborted-unchanged": 130,
        "measured": 0,
        "no-change": 0,
    }


@pytest.mark.parametrize(("error", "code"), [(1, 1), (6, 6), (7, 7), (8, 8), (2, 1), (9, 1), (130, 1), (0, 1)])
def test_a_failure_takes_the_code_of_its_error(error: int, code: int) -> None:
    assert exit_code(Outcome.FAILED_UNCHANGED, error) == code
    assert exit_code(Outcome.VERIFIED, error) == 0


def test_a_fleet_ends_with_its_worst() -> None:
    for better, code in enumerate(FLEET_ORDER):
        for other in FLEET_ORDER[better:]:
            assert worst([other, code, None]) == worst([code, other]) == code


def test_a_fleet_of_nobody_is_well() -> None:
    assert worst([]) == 0
    assert worst([None]) == 0


def test_a_code_nobody_knows_is_not_hidden() -> None:
    assert worst([0, 77]) == 77


def test_open_outcomes_are_those_somebody_must_settle() -> None:
    assert {outcome.value for outcome in OPEN_OUTCOMES} == {"unknown", "rollback-failed", "applied-unverified"}
