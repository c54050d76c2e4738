"""The plan verb and the run refuse the same thing first, and show the plan as far as it can be made."""

from __future__ import annotations

from console.errors import LockHeldError, RefusedError, SudoError
from console.planning.decide import decide
from console.schema.change import ReloadChange
from console.schema.facts import Facts, LockState
from console.schema.plan import Plan
from tests.fakes import facts, host, plan

PLAN = plan(changes=(ReloadChange(id="c1", step="r", unit="chat.service"),))
LOCKED = facts().model_copy(update={"lock": LockState(held=True, run="R2")})


async def made() -> Plan:
    return PLAN


async def refused() -> Plan:
    raise RefusedError("expected 1, found 2")


async def test_nothing_in_the_way() -> None:
    decision = await decide(facts(), made)
    assert (decision.plan, decision.refusal) == (PLAN, None)


async def test_who_holds_the_unit_comes_first_and_the_plan_is_shown_all_the_same() -> None:
    decision = await decide(LOCKED, made)
    assert decision.plan is PLAN
    assert isinstance(decision.refusal, LockHeldError)
    assert isinstance((await decide(LOCKED, refused)).refusal, LockHeldError)
    assert (await decide(LOCKED, made, own_runs=["R2"])).refusal is None


async def test_the_plan_s_own_refusal_and_then_the_host_s() -> None:
    careful: Facts = facts().model_copy(update={"host": host(sudo="password")})
    assert isinstance((await decide(careful, refused)).refusal, RefusedError)
    decision = await decide(careful, made)
    assert decision.plan is PLAN
    assert isinstance(decision.refusal, SudoError)
