"""A reload is believed when systemd no longer asks for one and still loads the unit."""

from __future__ import annotations

import pytest

from console.changes import kinds
from console.errors import StepFailedError
from console.remote.scripts import Output
from console.schema.change import ReloadChange
from tests.fakes import RUN, FakeRemote, state

RELOAD = ReloadChange(id="c2", step="reload", unit="chat.service")


@pytest.mark.parametrize(("needed", "said"), [(True, "before"), (False, "after")])
async def test_looking(needed: bool, said: str) -> None:
    assert await kinds.look(RELOAD, FakeRemote(unit=state(need_daemon_reload=needed))) == said


async def test_it_is_made_and_looked_at() -> None:
    remote = FakeRemote()
    made = await kinds.make(RELOAD, remote, RUN)
    assert remote.told == [("act_reload.sh", ("chat.service",))]
    assert remote.locks == [RUN]
    assert made.after == {"load_state": "loaded"}


async def test_undoing_is_reloading_again() -> None:
    remote = FakeRemote()
    assert await kinds.inverse(RELOAD, remote) is RELOAD
    await kinds.make(RELOAD, remote, RUN)
    assert remote.scripts() == ["act_reload.sh"]


async def test_a_reload_that_failed() -> None:
    remote = FakeRemote(answers={"act_reload.sh": Output(1, stderr=b"Failed to reload daemon: timeout\n")})
    with pytest.raises(StepFailedError, match="daemon-reload failed: Failed to reload daemon: timeout"):
        await kinds.make(RELOAD, remote, RUN)


async def test_a_reload_that_changed_nothing() -> None:
    with pytest.raises(StepFailedError, match="still needs a daemon-reload after one"):
        await kinds.make(RELOAD, FakeRemote(unit=state(need_daemon_reload=True)), RUN)


@pytest.mark.parametrize("load_state", ["bad-setting", "not-found", "masked", "error"])
async def test_a_unit_that_systemd_cannot_load_any_more(load_state: str) -> None:
    with pytest.raises(StepFailedError, match=rf"cannot load chat\.service now \({load_state}\)"):
        await kinds.make(RELOAD, FakeRemote(unit=state(load_state=load_state)), RUN)
