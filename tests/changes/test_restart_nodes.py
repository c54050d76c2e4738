"""Ranks of one engine are stopped all, then started all; half of it is never taken for none of it."""

from __future__ import annotations

from typing import Any

import pytest

from console.changes import kinds
from console.errors import RestartedByOthersError, StepFailedError
from console.remote.scripts import Output
from console.schema.change import NodeStart, RestartChange
from console.schema.facts import UnitState
from tests.fakes import NEW, NEWER, OLD, RUN, UNIT_NAME, FakeRemote, state, target

CHANGE = RestartChange(
    id="c3",
    step="restart",
    unit=UNIT_NAME,
    invocation_before=OLD,
    nodes=(NodeStart(node="node1", invocation_before=NEW),),
)


class Rank(FakeRemote):
    """A unit that is down after a stop, and another start after a restart."""

    def __init__(self, log: list[str], unit: UnitState, **more: Any) -> None:
        super().__init__(unit=unit, **more)
        self.log = log

    def _answer(self, script: str, args: tuple[str, ...]) -> Output:
        if script in ("act_halt.sh", "act_restart.sh"):
            self.log.append(f"{script} {self.target.host_name}")
        output = super()._answer(script, args)
        if output.exit_status:
            return output
        if script == "act_halt.sh":
            self.unit = self.unit.model_copy(update={"active_state": "inactive"})
        elif script == "act_restart.sh":
            self.unit = self.unit.model_copy(update={"active_state": "active", "invocation_id": NEWER})
        return output


def pair(own: UnitState, other: UnitState, **answers: Any) -> tuple[Rank, Rank, list[str]]:
    log: list[str] = []
    serving, rank = Rank(log, own), Rank(log, other, answers=answers)
    rank.target = target().model_copy(update={"host_name": "node1", "rank": 1})
    serving.adopt([rank])
    return serving, rank, log


async def test_what_serves_is_stopped_first_and_nothing_starts_before_all_are_down() -> None:
    serving, _, log = pair(state(), state(invocation_id=NEW))
    made = await kinds.make(CHANGE, serving, RUN)
    assert log == ["act_halt.sh node7", "act_halt.sh node1", "act_restart.sh node7", "act_restart.sh node1"]
    assert made.before == {"invocation": OLD, "nodes": {"node1": NEW}}
    assert await kinds.look(CHANGE, serving) == "after"


async def test_a_start_by_somebody_else_stops_nothing() -> None:
    serving, _, log = pair(state(), state(invocation_id=NEWER))
    with pytest.raises(RestartedByOthersError):
        await kinds.make(CHANGE, serving, RUN)
    assert log == []


async def test_a_start_of_what_serves_by_somebody_else_stops_nothing() -> None:
    serving, _, log = pair(state(invocation_id=NEWER), state(invocation_id=NEW))
    with pytest.raises(RestartedByOthersError):
        await kinds.make(CHANGE, serving, RUN)
    assert log == []


@pytest.mark.parametrize(
    ("own", "other", "seen"),
    [
        (state(), state(invocation_id=NEW), "before"),
        (state(invocation_id=NEWER), state(invocation_id=NEWER), "after"),
        (state(invocation_id=NEWER), state(invocation_id=NEW), "unknown"),
        (state(active_state="inactive"), state(invocation_id=NEW), "unknown"),
        (state(active_state="deactivating"), state(invocation_id=NEW), "unknown"),
        (state(active_state="inactive"), state(active_state="inactive", invocation_id=NEW), "unknown"),
    ],
)
async def test_how_far_it_came(own: UnitState, other: UnitState, seen: str) -> None:
    serving, _, _ = pair(own, other)
    assert await kinds.look(CHANGE, serving) == seen


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (state(active_state="inactive"), state(invocation_id=NEW)),
        (state(invocation_id="4" * 32), state(active_state="inactive", invocation_id=NEW)),
    ],
)
async def test_made_by_half_it_is_made_again(own: UnitState, other: UnitState) -> None:
    serving, rank, _ = pair(own, other)
    await kinds.make(CHANGE, serving, RUN)
    assert (serving.unit.invocation_id, rank.unit.invocation_id) == (NEWER, NEWER)


async def test_a_rank_that_cannot_be_stopped_starts_none() -> None:
    serving, _, log = pair(state(), state(invocation_id=NEW), **{"act_halt.sh": Output(1, stderr=b"not allowed")})
    with pytest.raises(StepFailedError, match="stop was refused: not allowed"):
        await kinds.make(CHANGE, serving, RUN)
    assert not any("restart" in line for line in log)


async def test_the_way_back_is_the_same_from_what_runs_now() -> None:
    serving, _, _ = pair(state(invocation_id=NEWER), state(invocation_id=OLD))
    back = await kinds.inverse(CHANGE, serving)
    assert isinstance(back, RestartChange)
    assert back.invocation_before == NEWER
    assert [start.invocation_before for start in back.nodes] == [OLD]
