"""What cannot be served is refused before the first change; what cannot be judged stops nothing."""

from __future__ import annotations

from typing import Any

import pytest

from console.errors import RefusedError
from console.planning.capacity import refuse
from console.schema.capacity import DecodeCost, DecodeLaw, Judgement
from console.schema.cells import Cell
from console.schema.change import RestartChange
from console.schema.events import FindingMade
from console.schema.plan import Plan, PlannedStep
from console.steps.capacity_check import CapacityCheck, against_law
from tests.fakes import FakeRemote, Told, plan, step_io

RESTART = RestartChange(id="c3", step="restart", unit="chat.service", invocation_before="")
SMALL = Judgement(verdict="starts but cannot serve", sentence="the pool will hold 88,000 tokens", pool_tokens=88_000)
DRAFT = Judgement(verdict="beyond the draft", sentence="200,000 is beyond the draft's 131,072", variable="ALLOW_LONGER")


def judged(judgement: Judgement | None, *, require: str = "serve", skipped: str = "", **more: Any) -> Plan:
    step = PlannedStep(
        id="check",
        index=1,
        uses="capacity.check",
        title="",
        on_failure="stop",
        fields={"require": require},
        skipped=skipped,
    )
    return plan(**({"steps": (step,), "capacity": judgement, "changes": (RESTART,)} | more))


@pytest.mark.parametrize(
    ("judgement", "require", "hint"),
    [
        (SMALL, "serve", "console capacity node7/chat shows what would make it fit; --set require=start accepts it"),
        (DRAFT, "serve", "ALLOW_LONGER=1"),
        (DRAFT, "start", "ALLOW_LONGER=1"),
        (Judgement(verdict="will not start", sentence="no room"), "start", "console capacity node7/chat"),
        (Judgement(verdict="beyond the model", sentence="300,000"), "start", "console capacity node7/chat"),
    ],
)
def test_a_plan_that_is_refused(judgement: Judgement, require: str, hint: str) -> None:
    with pytest.raises(RefusedError, match=judgement.sentence) as caught:
        refuse(judged(judgement, require=require))
    assert caught.value.exit_code == 1
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "made",
    [
        judged(SMALL, require="start"),
        judged(Judgement(verdict="serves", sentence="")),
        judged(Judgement(verdict="unknown", sentence="no config.json")),
        judged(SMALL, skipped="judged before the first change"),
        judged(SMALL, changes=()),
        judged(SMALL, steps=()),
        judged(None),
    ],
    ids=["start", "serves", "unknown", "skipped", "nothing to do", "no such step", "no window"],
)
def test_a_plan_that_is_let_through(made: Plan) -> None:
    refuse(made)


async def test_what_was_predicted_is_a_finding() -> None:
    told = Told()
    decode = DecodeCost(context_tokens=200_000, step_ms=4046.3, extrapolated=38.07, source="the sweep", text="slow")
    judgement = Judgement(verdict="serves", sentence="it fits", pool_tokens=203_386, decode=decode)
    io = step_io(FakeRemote(), "capacity.check", told, plan=judged(judgement))
    result = await CapacityCheck().run(io)
    assert (result.outcome, result.message) == ("ok", "serves: it fits")
    pool, step = told.of(FindingMade)
    assert (pool.name, pool.value) == ("predicted_pool_tokens", 203_386)
    assert (step.name, step.value, step.context_tokens) == ("predicted_step_time", 4046.3, 200_000)
    assert step.method == "extrapolated 38-fold"


async def test_what_cannot_be_judged_is_never_shown_as_ok() -> None:
    judgement = Judgement(verdict="unknown", sentence="no config.json")
    result = await CapacityCheck().run(step_io(FakeRemote(), "capacity.check", Told(), plan=judged(judgement)))
    assert (result.outcome, result.message) == ("skipped", "not judged: no config.json; the proof decides")


def test_the_deepest_step_is_compared_with_what_was_reckoned() -> None:
    law = DecodeLaw(intercept_ms=26.3, slope_ms=0.0201, deepest_tokens=5869, accept_lengths=(2.9,), source="a sweep")
    made = plan(capacity=Judgement(verdict="serves", sentence="", law=law))
    cells = [cell(at_tokens=1000.0, step_ms=46.4), cell(at_tokens=100_000.0, step_ms=2238.9), cell(at_tokens=150_000.0)]
    (found,) = against_law(made, cells)
    assert (found.name, found.value, found.unit, found.context_tokens) == ("step_time_error", 9.95, "%", 100_000)
    assert found.figures == {"predicted_ms": 2036.3, "measured_ms": 2238.9}
    assert against_law(plan(), cells) == []
    assert against_law(made, []) == []


def cell(**more: Any) -> Cell:
    return Cell(name="sweep", step="sweep", text_class="analysis", asked_tokens=1, **more)


@pytest.mark.parametrize("window", ["200000", "200k", "1.5M", "auto", "200_000"])
def test_a_window_as_some_engine_takes_it(window: str) -> None:
    assert CapacityCheck(context=window).context == window


@pytest.mark.parametrize("window", ["banana", "200 000", "k", "200q", "--context"])
def test_a_window_that_is_no_number_is_refused(window: str) -> None:
    with pytest.raises(ValueError, match="is no number of tokens"):
        CapacityCheck(context=window)
