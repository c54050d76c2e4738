"""A guard is armed, called off, and told; also where the host's answer to either is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.errors import ConnectionLostError
from console.runner.guard import Guard
from console.schema.events import GuardChanged
from tests.fakes import Told, context, ok
from tests.runner.job import FILE, Host, job

LOST = ConnectionLostError("act_guard: the connection was lost; whether it happened must be looked at")
ACTIVE = ok(guard="ActiveState=active\n")
GONE = ok(guard="ActiveState=inactive\n")


def guard_on(host: Host, folder: Path) -> tuple[Guard, Told]:
    run, told = context(folder), Told()
    run.log.subscribe(told)
    return Guard(run, host, job(FILE, guard_s=20.0), run.run), told


async def test_armed_and_called_off(tmp_path: Path) -> None:
    host = Host(answers={"act_guard.sh": ACTIVE, "act_guard_off.sh": GONE})
    guard, told = guard_on(host, tmp_path)
    await guard.arm()
    await guard.disarm()
    await guard.disarm()
    assert host.scripts().count("act_guard_off.sh") == 1
    assert [event.state for event in told.of(GuardChanged)] == ["armed", "disarmed"]


async def test_one_whose_arming_nobody_answered_for_is_called_off_too(tmp_path: Path) -> None:
    host = Host(answers={"act_guard.sh": LOST, "act_guard_off.sh": GONE})
    guard, told = guard_on(host, tmp_path)
    with pytest.raises(ConnectionLostError):
        await guard.arm()
    assert not guard.armed  # so that it is armed again where the run goes on
    await guard.disarm()
    assert host.scripts().count("act_guard_off.sh") == 1
    assert [event.state for event in told.of(GuardChanged)] == ["disarmed"]


async def test_one_that_cannot_be_called_off_is_said_to_be_left(tmp_path: Path) -> None:
    host = Host(answers={"act_guard.sh": LOST, "act_guard_off.sh": LOST})
    guard, told = guard_on(host, tmp_path)
    with pytest.raises(ConnectionLostError):
        await guard.arm()
    await guard.disarm()
    guard.leave()
    assert [event.state for event in told.of(GuardChanged)] == ["still armed", "left armed"]


async def test_without_a_guard_nothing_is_called_off(tmp_path: Path) -> None:
    host = Host()
    guard, _ = guard_on(host, tmp_path)
    await guard.disarm()
    assert host.scripts() == []
