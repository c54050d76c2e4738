"""The host's lock is held from the first written file to the reload, and no longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.errors import LockHeldError
from console.remote.scripts import Output
from console.runner.host_lock import HostLock
from console.runner.lock import UnitLock
from console.schema.events import StepProgress
from console.schema.outcome import Outcome
from tests.fakes import FakeRemote, context, ok, plan, target, target_run
from tests.runner.job import FILE, RELOAD, RESTART, Host, Looks, carried_out, job

MAIN = (FILE, RELOAD, RESTART, "service.wait_ready", "service.verify")
OTHERS = LockHeldError("locked by lee, run R2")


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    looks = Looks()
    looks.install(monkeypatch)
    return looks


async def test_it_covers_write_and_reload_and_is_given_back_before_the_restart(tmp_path: Path) -> None:
    host = Host()
    held: dict[str, bool] = {}

    def note(script: str) -> None:
        answer = host.answers.get(script)

        def noted(*args: object) -> Output:
            held[script] = bool(host.host_holds) and not host.host_holds[-1].released
            return answer(*args) if callable(answer) else ok()

        host.answers[script] = noted

    for script in ("act_replace.sh", "act_reload.sh", "act_restart.sh"):
        note(script)
    _, state, _ = await carried_out(context(tmp_path), host, job(*MAIN))
    assert state.outcome("node7/chat") is Outcome.VERIFIED
    assert (held["act_reload.sh"], held["act_restart.sh"]) == (True, False)
    assert [hold.released for hold in host.host_holds] == [1]


async def test_another_run_that_writes_is_waited_for(tmp_path: Path) -> None:
    host = Host(answers={"act_lock.sh host": [OTHERS, OTHERS, ok()]})
    _, state, told = await carried_out(context(tmp_path), host, job(*MAIN))
    assert state.outcome("node7/chat") is Outcome.VERIFIED
    assert [event.message for event in told.of(StepProgress)] == [
        "waits for another run that writes on this host: locked by lee, run R2"
    ] * 2


async def test_one_that_never_ends_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    host = Host(answers={"act_lock.sh host": OTHERS})
    _, state, _ = await carried_out(context(tmp_path), host, job(*MAIN))
    assert "act_replace.sh" not in host.scripts()
    assert state.outcome("node7/chat") is Outcome.FAILED_UNCHANGED
    assert state.targets["node7/chat"].error_exit == 6


async def test_two_parts_of_a_pair_on_one_host_take_it_once(tmp_path: Path) -> None:
    own, other = FakeRemote(), FakeRemote()
    other.target = target().model_copy(update={"service_name": "decode", "rank": 1, "part": True})
    own.adopt([other])
    run = target_run(context(tmp_path), own, plan())
    run.lock = UnitLock(run.context, own, "change")
    lock, change = HostLock(), RELOAD.model_copy(update={"nodes": ("node7/decode",)})
    await lock.before(run, change)
    assert len(own.host_holds) + len(other.host_holds) == 1
    await lock.after(change)
    assert [hold.released for hold in (*own.host_holds, *other.host_holds)] == [1]
