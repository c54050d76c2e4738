"""Putting back goes as far as it can, never raises, and says what of ours is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.errors import (
    AuthenticationError,
    NotReadyError,
    NotServedError,
    RefusedError,
    RestartedByOthersError,
    StalePlanError,
    StepFailedError,
    UnreachableError,
)
from console.remote.scripts import Output
from console.runner import undo
from console.runner.guard import Guard
from console.schema.events import ChangeUndoing, ChangeUndone, GuardChanged, StepFinished, UndoFinished, UndoStarted
from console.schema.outcome import Outcome
from console.steps.base import StepIO
from tests.fakes import FRAGMENT, UNIT, context, state
from tests.runner.job import FILE, RELOAD, RESTART, Host, Looks, carried_out, command, job, raises


class Armed(Guard):
    """A guard that is armed already and is not pushed."""

    def __init__(self, entry_run: str) -> None:
        self.entry_run = entry_run
        self.armed = True
        self._pushing = None

    async def disarm(self) -> None:
        self.armed = False


MAIN = (FILE, RELOAD, RESTART, "service.wait_ready", "service.verify")
NOT_SERVED = NotServedError("the pool is too small")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    looks = Looks(verify=[raises(NOT_SERVED)])
    looks.install(monkeypatch)
    return looks


async def test_the_old_state_comes_back_and_is_proven(tmp_path: Path, looks: Looks) -> None:
    host = Host()
    _, state, told = await carried_out(context(tmp_path), host, job(*MAIN))
    assert host.files[FRAGMENT] == UNIT.encode()
    assert host.scripts().count("act_restart.sh") == 2
    assert state.outcome("node7/chat") is Outcome.ROLLED_BACK
    assert [event.change.id for event in told.of(ChangeUndone)] == ["c1", "c2", "c3"]


async def test_each_way_back_is_on_disk_before_it_is_gone(tmp_path: Path, looks: Looks) -> None:
    _, _, told = await carried_out(context(tmp_path), Host(), job(*MAIN))
    said = [(type(e), e.change.id) for e in told.events if isinstance(e, ChangeUndoing | ChangeUndone)]
    assert said == [(kind, name) for name in ("c1", "c2", "c3") for kind in (ChangeUndoing, ChangeUndone)]


async def test_a_command_without_a_way_back_keeps_no_file_and_no_service_from_being_put_back(
    tmp_path: Path, looks: Looks
) -> None:
    host = Host()
    planned = job(FILE, RELOAD, command(), RESTART, "service.wait_ready", "service.verify")
    _, state, told = await carried_out(context(tmp_path), host, planned)
    assert host.files[FRAGMENT] == UNIT.encode()
    assert host.scripts().count("act_restart.sh") == 2
    (end,) = told.of(UndoFinished)
    assert not end.proven
    assert "nvidia-smi -pl 400" in end.message
    assert "files and service are back" in end.message
    assert state.outcome("node7/chat") is Outcome.ROLLBACK_FAILED


async def test_a_way_back_that_fails_is_named_and_the_rest_goes_on(tmp_path: Path, looks: Looks) -> None:
    host = Host(answers={"act_command.sh": [Output(0), Output(3, stderr=b"no such limit")]})
    planned = job(FILE, RELOAD, command(undo="nvidia-smi -pl 700"), RESTART, "service.wait_ready", "service.verify")
    _, _, told = await carried_out(context(tmp_path), host, planned)
    assert host.files[FRAGMENT] == UNIT.encode()
    assert "no such limit" in told.of(UndoFinished)[0].message


async def test_a_command_with_a_way_back_leaves_nothing(tmp_path: Path, looks: Looks) -> None:
    planned = job(command(undo="nvidia-smi -pl 700"), RESTART, "service.wait_ready", "service.verify")
    _, state, _ = await carried_out(context(tmp_path), Host(), planned)
    assert state.outcome("node7/chat") is Outcome.ROLLED_BACK


async def test_a_bug_of_ours_on_the_way_back_is_an_end_and_no_exception(tmp_path: Path, looks: Looks) -> None:
    looks.wait = [lambda _io: None, raises(ZeroDivisionError("by zero"))]
    _, state, told = await carried_out(context(tmp_path), Host(), job(*MAIN))
    (end,) = told.of(UndoFinished)
    assert (end.proven, "ZeroDivisionError" in end.message) == (False, True)
    assert state.outcome("node7/chat") is Outcome.ROLLBACK_FAILED


async def test_a_host_that_lets_nobody_in_any_more_is_left_as_it_is(tmp_path: Path, looks: Looks) -> None:
    looks.wait = [raises(AuthenticationError("the key is not accepted any more"))]
    host = Host()
    _, state, told = await carried_out(context(tmp_path), host, job(*MAIN))
    assert told.of(UndoStarted) == []
    assert state.outcome("node7/chat") is Outcome.APPLIED_UNVERIFIED


async def test_a_lock_that_cannot_be_taken_again_begins_no_way_back(tmp_path: Path, looks: Looks) -> None:
    host = Host()

    def lose(_io: object) -> None:
        host.holds[-1].lost.set()
        host.answers["act_lock.sh"] = RefusedError("the lock cannot be taken: sudo: a password is required")

    looks.wait = [lose]
    _, state, told = await carried_out(context(tmp_path), host, job(*MAIN))
    assert told.of(UndoStarted) == []
    assert "nothing was put back" in told.of(StepFinished)[-1].message
    assert state.outcome("node7/chat") is Outcome.APPLIED_UNVERIFIED


async def test_a_cause_on_the_host_brings_the_files_back_and_no_second_start(tmp_path: Path, looks: Looks) -> None:
    error = NotReadyError("the unit failed: no NVIDIA GPU detected")
    error.cause = "gpu-driver"
    looks.wait = [raises(error)]
    host = Host()
    _, state, told = await carried_out(context(tmp_path), host, job(*MAIN))
    assert host.files[FRAGMENT] == UNIT.encode()
    assert host.scripts().count("act_restart.sh") == 1
    assert "nvidia-smi" in told.of(UndoFinished)[-1].message
    assert state.outcome("node7/chat") is Outcome.ROLLBACK_FAILED


async def test_a_host_that_is_gone_leaves_the_rollback_pending(tmp_path: Path, looks: Looks) -> None:
    looks.wait = [raises(UnreachableError("no route"))]
    run, state, told = await carried_out(context(tmp_path), Host(), job(*MAIN))
    assert told.of(UndoStarted) == []
    assert "rollback pending" in told.of(StepFinished)[-1].message
    assert "rollback pending" in run.message
    assert state.outcome("node7/chat") is Outcome.APPLIED_UNVERIFIED


async def test_after_the_proof_nothing_is_rolled_back(tmp_path: Path, looks: Looks) -> None:
    looks.verify = []
    host = Host(answers={"act_command.sh": [Output(0), Output(1, stderr=b"no")]})
    planned = job(*MAIN, command("first"), command("second", change_id="k2"))
    _, state, told = await carried_out(context(tmp_path), host, planned)
    assert told.of(UndoStarted) == []
    assert host.files[FRAGMENT] != UNIT.encode()
    assert state.outcome("node7/chat") is Outcome.APPLIED_UNVERIFIED


async def test_a_refused_step_error_is_kept(tmp_path: Path, looks: Looks) -> None:
    looks.verify = [raises(StepFailedError("odd"))]
    run, _, _ = await carried_out(context(tmp_path), Host(), job(*MAIN, on_failure="stop"))
    assert run.message == "odd"


async def test_what_the_guard_put_back_meanwhile_is_proven_and_not_put_back_twice(
    tmp_path: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host()
    run = context(tmp_path)

    async def ledger(_reader: object) -> list[dict[str, str]]:
        return [{"run": run.run, "state": "guard"}]

    def gone(io: StepIO) -> None:
        host.files[FRAGMENT] = UNIT.encode()
        host.unit = state(invocation_id="9" * 32)
        raise RestartedByOthersError("it was started by somebody else while the connection was lost")

    monkeypatch.setattr(undo, "read_ledger", ledger)
    looks.wait.append(gone)
    looks.verify.clear()
    arm = lambda target: setattr(target, "guard", Armed(run.run))  # noqa: E731
    _, folded, told = await carried_out(run, host, job(*MAIN, guard_s=20.0), [arm])
    assert host.scripts().count("act_restart.sh") == 1
    assert folded.outcome("node7/chat") is Outcome.ROLLED_BACK
    assert {event.how for event in told.of(ChangeUndone)} == {"guard"}
    assert [event.state for event in told.of(GuardChanged)] == ["fired"]


async def test_a_reboot_after_the_guards_way_back_keeps_nobody_from_proving_it(
    tmp_path: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, run = Host(), context(tmp_path)

    async def ledger(_reader: object) -> list[dict[str, str]]:
        return [{"run": run.run, "state": "guard"}]

    def rebooted(_io: StepIO) -> None:
        host.files[FRAGMENT] = UNIT.encode()
        host.unit = state(invocation_id="9" * 32)
        host.boot_id = "boot-2"
        raise StalePlanError("the host was rebooted while the connection was lost")

    def of_this_boot(io: StepIO) -> None:
        if io.before.host.boot_id != host.boot_id:  # as service.verify does
            raise NotReadyError("the host was rebooted since the plan was made")

    monkeypatch.setattr(undo, "read_ledger", ledger)
    looks.wait.append(rebooted)
    looks.verify[:] = [of_this_boot]
    arm = lambda target: setattr(target, "guard", Armed(run.run))  # noqa: E731
    _, folded, told = await carried_out(run, host, job(*MAIN, guard_s=20.0), [arm])
    assert looks.verify == []
    assert told.of(UndoFinished)[-1].proven
    assert folded.outcome("node7/chat") is Outcome.ROLLED_BACK


async def test_somebody_elses_start_is_not_the_guards(
    tmp_path: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ledger(_reader: object) -> list[dict[str, str]]:
        return [{"run": run.run, "state": "open"}]

    host, run = Host(), context(tmp_path)
    monkeypatch.setattr(undo, "read_ledger", ledger)
    looks.wait.append(raises(RestartedByOthersError("started by somebody else")))
    arm = lambda target: setattr(target, "guard", Armed(run.run))  # noqa: E731
    _, folded, told = await carried_out(run, host, job(*MAIN, guard_s=20.0), [arm])
    assert folded.outcome("node7/chat") is Outcome.APPLIED_UNVERIFIED
    assert told.of(UndoStarted) == []
