"""Every end comes with the commands to go on, with this tool and without it."""

from __future__ import annotations

import pytest

from console.runner.advice import commands
from console.schema.hosts import Defaults
from console.schema.outcome import Outcome
from console.schema.plan import FileEdit, Plan
from tests.fakes import FRAGMENT, plan, target

UNDO = "ssh ops@node7.example.net sudo sh /var/lib/console/chat.service/R1/undo.sh"
STATUS = "ssh ops@node7.example.net systemctl status chat.service"


def edited() -> Plan:
    edit = FileEdit(
        path=FRAGMENT, real_path=FRAGMENT, splices=(), sha256_before="", sha256_after="", diff="", steps=(), change="c1"
    )
    return plan(edits=(edit,), runbook_path="runbooks/extend_context.toml")


@pytest.mark.parametrize(
    ("outcome", "lines"),
    [
        (Outcome.VERIFIED, ("console facts node7/chat", "console rollback R1", UNDO)),
        (Outcome.VERIFIED_INCOMPLETE, ("console facts node7/chat", "console rollback R1", UNDO)),
        (Outcome.APPLIED_UNVERIFIED, ("console resume R1", "console rollback R1", STATUS, UNDO)),
        (Outcome.UNKNOWN, ("console resume R1", "console rollback R1", STATUS, UNDO)),
        (Outcome.ROLLBACK_FAILED, ("console rollback R1", STATUS, UNDO)),
        (Outcome.NO_CHANGE, ("console facts node7/chat",)),
    ],
)
def test_what_to_type_next(outcome: Outcome, lines: tuple[str, ...]) -> None:
    assert commands(outcome, target(), "R1", edited()) == lines


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_something_to_type(outcome: Outcome) -> None:
    assert commands(outcome, target(), "R1", edited())
    assert commands(outcome, target(), "R1", None)


def test_a_failure_that_changed_nothing_says_how_to_look_again() -> None:
    again, log = commands(Outcome.FAILED_UNCHANGED, target(), "R1", edited())
    assert again == "console plan runbooks/extend_context.toml node7/chat"
    assert log == "ssh ops@node7.example.net journalctl -u chat.service -n 200"
    assert commands(Outcome.FAILED_UNCHANGED, target(), "R1", None)[0] == "console plan RUNBOOK node7/chat"


def test_a_run_of_one_step_is_made_again_by_its_own_command() -> None:
    measured = plan(runbook_path="console measure decode")
    assert commands(Outcome.FAILED_UNCHANGED, target(), "R1", measured)[0] == "console measure decode node7/chat"


def test_what_changed_no_file_has_nothing_to_roll_back() -> None:
    assert commands(Outcome.VERIFIED, target(), "R1", plan()) == ("console facts node7/chat",)


def test_the_login_is_the_inventorys() -> None:
    here = target(user=None, address=None)
    assert "ssh node7 systemctl" in commands(Outcome.UNKNOWN, here, "R1", None)[2]
    there = here.model_copy(update={"defaults": Defaults(user="root")})
    assert "ssh root@node7 " in commands(Outcome.UNKNOWN, there, "R1", None)[2]


def test_a_lab_keeps_its_ledger_elsewhere() -> None:
    here = target(state_folder="/srv/lab/state")
    assert "/srv/lab/state/chat.service/R1/undo.sh" in commands(Outcome.ROLLBACK_FAILED, here, "R1", edited())[-1]
