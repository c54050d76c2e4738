"""A restart ends the start the plan saw, and nobody else's."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from console.changes import kinds
from console.changes.restart import STARTED_BY_OTHERS
from console.errors import RestartedByOthersError, StepFailedError
from console.remote.scripts import Output, render
from console.schema.change import RestartChange
from tests.fakes import NEW, OLD, RUN, FakeRemote, ok, state


def change(**more: Any) -> RestartChange:
    given: dict[str, Any] = {"id": "c3", "step": "restart", "unit": "chat.service", "invocation_before": OLD}
    return RestartChange(**(given | more))


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ({}, "before"),
        ({"invocation_id": NEW}, "after"),
        ({"invocation_id": NEW, "active_state": "failed"}, "after"),
        ({"job": "9"}, "after"),
        ({"job": "9", "active_state": "deactivating"}, "after"),
        ({"job": "9", "active_state": "activating"}, "after"),
        ({"invocation_id": "", "active_state": "inactive"}, "before"),
    ],
)
async def test_looking(unit: dict[str, Any], said: str) -> None:
    assert await kinds.look(change(), FakeRemote(unit=state(**unit))) == said


@pytest.mark.parametrize(
    ("before", "unit", "said"),
    [
        ({}, {"active_state": "activating", "sub_state": "auto-restart"}, "before"),
        ({}, {"active_state": "deactivating", "sub_state": "stop-sigterm"}, "before"),
        ({"job_before": "7"}, {"job": "7", "active_state": "activating", "sub_state": "start"}, "before"),
        ({"job_before": "7"}, {"job": "9", "active_state": "activating", "sub_state": "start"}, "after"),
        ({"n_restarts_before": 3}, {"invocation_id": NEW, "n_restarts": 4}, "before"),
        ({"n_restarts_before": 3}, {"job": "9", "n_restarts": 4, "sub_state": "auto-restart-queued"}, "before"),
        ({"n_restarts_before": 3}, {"invocation_id": NEW, "n_restarts": 0}, "after"),
        ({}, {"invocation_id": NEW, "n_restarts": 1}, "unknown"),
    ],
)
async def test_what_systemd_does_by_itself_was_not_asked_for(
    before: dict[str, Any], unit: dict[str, Any], said: str
) -> None:
    assert await kinds.look(change(**before), FakeRemote(unit=state(**unit))) == said


async def test_it_tells_the_host_which_start_it_means() -> None:
    remote = FakeRemote(answers={"act_restart.sh": ok(ended=f"{OLD}\n")})
    made = await kinds.make(change(n_restarts_before=4), remote, RUN)
    assert remote.told == [("act_restart.sh", ("chat.service", "", OLD, "4"))]
    assert remote.locks == [RUN]
    assert made.before == {"invocation": OLD}


async def test_a_failed_unit_has_its_counter_reset() -> None:
    remote = FakeRemote()
    await kinds.make(change(reset_failed=True), remote, RUN)
    assert remote.told[0][1][1] == "yes"


def test_a_counter_that_cannot_be_reset_does_not_keep_the_service_down(tmp_path: Path) -> None:
    """systemd forgets a unit that is down and not referred to, and then has no counter of it to reset."""
    asked = tmp_path / "asked"
    stand_in = f"""#!/bin/sh
printf '%s\\n' "$1" >> {asked}
case $1 in
  show) printf 'InvocationID={OLD}\\nNRestarts=0\\n' ;;
  reset-failed) echo 'Unit chat.service not loaded.' >&2; exit 1 ;;
esac
"""
    for name, text in {"systemctl": stand_in, "sudo": '#!/bin/sh\nshift 2\nexec "$@"\n'}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "-s"],
        input=render("act_restart.sh", ["chat.service", "yes", OLD, "0"], mark="M"),
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert asked.read_text().split() == ["show", "reset-failed", "restart"]


async def test_the_start_it_ended_is_what_counts() -> None:
    remote = FakeRemote(answers={"act_restart.sh": ok(ended=f"{NEW}\n")})
    assert (await kinds.make(change(), remote, RUN)).before == {"invocation": NEW}


async def test_somebody_elses_start_is_not_ended() -> None:
    said = b"chat.service was started by somebody else: invocation 2, planned 1\n"
    remote = FakeRemote(answers={"act_restart.sh": Output(STARTED_BY_OTHERS, stderr=said)})
    with pytest.raises(RestartedByOthersError, match="was started by somebody else") as caught:
        await kinds.make(change(), remote, RUN)
    assert caught.value.exit_code == 3


async def test_a_restart_that_systemd_refuses() -> None:
    remote = FakeRemote(answers={"act_restart.sh": Output(4, stderr=b"Unit chat.service not found.\n")})
    with pytest.raises(StepFailedError, match=r"restart was refused: Unit chat\.service not found\."):
        await kinds.make(change(), remote, RUN)


@pytest.mark.parametrize("active", ["active", "failed", "activating"])
async def test_undoing_is_another_restart_from_whatever_runs_now_whatever_failed_before(active: str) -> None:
    remote = FakeRemote(unit=state(invocation_id=NEW, n_restarts=2, active_state=active))
    back = await kinds.inverse(change(), remote)
    assert back is not None
    await kinds.make(back, remote, RUN)
    assert remote.told == [
        ("look_unit.sh", ("chat.service",)),
        ("act_restart.sh", ("chat.service", "yes", NEW, "2")),
    ]


async def test_the_way_back_out_of_a_crash_loop_has_the_counter_reset() -> None:
    looping = state(invocation_id=NEW, n_restarts=2, active_state="activating", sub_state="auto-restart", job="9")
    back = await kinds.inverse(change(), FakeRemote(unit=looping))
    assert isinstance(back, RestartChange)
    assert (back.reset_failed, back.invocation_before, back.n_restarts_before, back.job_before) == (True, NEW, 2, "9")
