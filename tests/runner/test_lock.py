"""The unit's lock: taken, lost with its connection, taken again, and let go of without a fuss."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.errors import ConnectionLostError, LockHeldError
from console.remote.scripts import Output
from console.runner.lock import UnitLock
from console.schema.events import LockChanged
from tests.fakes import RUN, FakeRemote, Told, context, ok

TAKEN = LockHeldError("run R2 of lee holds the lock")


def unit_lock(tmp_path: Path, remote: FakeRemote) -> tuple[UnitLock, Told]:
    told = Told()
    return UnitLock(context(tmp_path, told), remote, "extend-context"), told


def states(told: Told) -> list[str]:
    return [event.state for event in told.of(LockChanged)]


async def test_it_is_taken_in_the_name_of_the_run(tmp_path: Path) -> None:
    remote = FakeRemote()
    lock, told = unit_lock(tmp_path, remote)
    assert not lock.held
    await lock.take()
    assert lock.held
    assert remote.documents == [
        {
            "run": RUN,
            "operator": "kim",
            "from_host": "desk.example.net",
            "runbook": "extend-context",
            "reason": "longer prompts",
        }
    ]
    assert [(event.state, event.holder, event.target) for event in told.of(LockChanged)] == [
        ("held", RUN, "node7/chat")
    ]


async def test_somebody_elses_lock_is_an_error_and_nothing_is_held(tmp_path: Path) -> None:
    lock, told = unit_lock(tmp_path, FakeRemote(answers={"act_lock.sh": TAKEN}))
    with pytest.raises(LockHeldError):
        await lock.take()
    assert not lock.held
    assert states(told) == []
    await lock.release()


async def test_a_lock_that_stands_is_not_taken_twice(tmp_path: Path) -> None:
    remote = FakeRemote()
    lock, told = unit_lock(tmp_path, remote)
    await lock.take()
    await lock.retake()
    assert len(remote.holds) == 1
    assert states(told) == ["held"]


async def test_a_lost_lock_is_taken_again(tmp_path: Path) -> None:
    remote = FakeRemote()
    lock, told = unit_lock(tmp_path, remote)
    await lock.take()
    remote.holds[0].lost.set()
    assert not lock.held
    await lock.retake()
    assert lock.held
    assert states(told) == ["held", "lost", "held"]


async def test_somebody_who_came_in_meanwhile_is_named(tmp_path: Path) -> None:
    answers: list[Output | Exception] = [ok(), TAKEN]
    remote = FakeRemote(answers={"act_lock.sh": [*answers]})
    lock, told = unit_lock(tmp_path, remote)
    await lock.take()
    remote.holds[0].lost.set()
    with pytest.raises(LockHeldError) as caught:
        await lock.retake()
    assert caught.value.exit_code == 6
    assert not lock.held
    assert states(told) == ["held", "lost", "taken by another run"]
    assert told.of(LockChanged)[-1].holder == "run R2 of lee holds the lock"


async def test_it_is_released_once(tmp_path: Path) -> None:
    remote = FakeRemote()
    lock, told = unit_lock(tmp_path, remote)
    await lock.take()
    await lock.release()
    await lock.release()
    assert remote.holds[0].released == 1
    assert not lock.held
    assert states(told) == ["held", "released"]


async def test_a_release_that_nobody_confirms_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = FakeRemote()
    lock, told = unit_lock(tmp_path, remote)
    await lock.take()

    async def release() -> None:
        raise ConnectionLostError("the host did not say that the lock is free")

    monkeypatch.setattr(remote.holds[0], "release", release)
    await lock.release()
    assert not lock.held
    assert states(told) == ["held", "released with the connection"]
