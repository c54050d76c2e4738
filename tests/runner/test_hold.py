"""Under the lock the host is looked at again; and once more when the lock was lost on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.runner.target_run import TargetRun
from console.schema.events import StepFinished, UndoStarted
from console.schema.outcome import Outcome
from tests.fakes import DROPIN, FRAGMENT, NEW, NEWER, UNIT, context, state
from tests.runner.job import AFTER, FILE, RELOAD, RESTART, Host, Looks, carried_out, command, job

MAIN = (FILE, RELOAD, RESTART, "service.wait_ready", "service.verify")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    looks = Looks()
    looks.install(monkeypatch)
    return looks


def new_dropin(host: Host) -> None:
    host.files[DROPIN] = b"[Service]\nEnvironment=A=1\n"


def edited(host: Host) -> None:
    host.files[FRAGMENT] += b"#\n"


def put_back(host: Host) -> None:
    host.files[FRAGMENT] = UNIT.encode()


def rebooted(host: Host) -> None:
    host.boot_id = "boot-2"


def started(host: Host) -> None:
    host.unit = state(invocation_id=NEWER)


@pytest.mark.parametrize(
    ("meanwhile", "said"),
    [
        (new_dropin, f"{DROPIN} changed"),
        (edited, f"{FRAGMENT} changed"),
        (rebooted, "the host was rebooted"),
        (started, "chat.service was started again"),
    ],
)
async def test_what_came_between_plan_and_lock_ends_it_before_anything_is_written(
    tmp_path: Path, looks: Looks, meanwhile: Any, said: str
) -> None:
    host = Host()
    _, folded, told = await carried_out(context(tmp_path), host, job(*MAIN), [lambda _run: meanwhile(host)])
    end = told.of(StepFinished)[-1]
    assert (end.step, end.outcome) == ("lock", "refused")
    assert said in end.message
    assert "nothing was written" in end.message
    assert end.error == {"kind": "StalePlan", "exit_code": 8}
    assert not {"act_ledger.sh", "act_replace.sh", "act_restart.sh"} & set(host.scripts())
    assert folded.outcome("node7/chat") is Outcome.FAILED_UNCHANGED


async def test_a_crash_loop_that_goes_on_is_nobody_else(tmp_path: Path, looks: Looks) -> None:
    host = Host()

    def crashed(_run: TargetRun) -> None:
        host.unit = state(invocation_id=NEWER, n_restarts=3)

    _, folded, _ = await carried_out(context(tmp_path), host, job(*MAIN), [crashed])
    assert folded.outcome("node7/chat") is Outcome.VERIFIED


async def test_it_is_one_script(tmp_path: Path, looks: Looks) -> None:
    host = Host()
    await carried_out(context(tmp_path), host, job(*MAIN))
    assert host.scripts().count("look_facts.sh") == 2
    assert len(host.requests) == 1, "the engine is asked at planning alone"


def lost_then(host: Host, meanwhile: Any) -> Any:
    def lose(_io: object) -> None:
        host.holds[-1].lost.set()
        meanwhile(host)

    return lose


@pytest.mark.parametrize("meanwhile", [new_dropin, edited, put_back, rebooted], ids=lambda act: act.__name__)
async def test_somebody_who_came_and_went_while_the_lock_was_lost_ends_it(
    tmp_path: Path, looks: Looks, meanwhile: Any
) -> None:
    host = Host()
    looks.wait = [lost_then(host, meanwhile)]
    _, folded, told = await carried_out(context(tmp_path), host, job(*MAIN))
    assert told.of(UndoStarted) == [], "a restart now would bring what somebody else left"
    assert host.scripts().count("act_restart.sh") == 1
    assert folded.outcome("node7/chat") is Outcome.APPLIED_UNVERIFIED


async def test_a_lock_lost_and_found_with_everything_as_this_run_made_it(tmp_path: Path, looks: Looks) -> None:
    host = Host()
    looks.wait = [lost_then(host, lambda _host: None)]
    _, folded, _ = await carried_out(context(tmp_path), host, job(*MAIN))
    assert host.files[FRAGMENT] == AFTER.encode()
    assert (len(host.holds), host.unit.invocation_id) == (2, NEW)
    assert folded.outcome("node7/chat") is Outcome.VERIFIED


async def test_what_a_command_of_the_runbook_wrote_is_not_somebody_else_s(tmp_path: Path, looks: Looks) -> None:
    host = Host()
    looks.wait = [lost_then(host, new_dropin)]
    planned = job(FILE, RELOAD, command(), RESTART, "service.wait_ready", "service.verify")
    _, folded, _ = await carried_out(context(tmp_path), host, planned)
    assert folded.outcome("node7/chat") is Outcome.VERIFIED


async def test_another_start_before_ours_was_asked_for_ends_it(tmp_path: Path, looks: Looks) -> None:
    host = Host()
    looks.wait = [lost_then(host, started)]
    planned = job(FILE, RELOAD, "service.wait_ready", RESTART)
    _, _, told = await carried_out(context(tmp_path), host, planned)
    assert "started by somebody else" in told.of(StepFinished)[-1].message
    assert "act_restart.sh" not in host.scripts()
    assert UNIT.encode() != host.files[FRAGMENT]
