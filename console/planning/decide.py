"""A plan, and the first refusal its run would end with; the same for `console plan` and for a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from console.errors import ConsoleError
from console.planning import capacity, policy
from console.schema.facts import Facts
from console.schema.plan import Plan


@dataclass(frozen=True)
class Decision:
    """The plan as far as it could be made, and why it is not carried out."""

    plan: Plan | None
    refusal: ConsoleError | None


async def decide(
    facts: Facts, planner: Callable[[], Awaitable[Plan]], *, own_runs: Sequence[str] = (), accept_pending: bool = False
) -> Decision:
    """Plan, also while another run holds the unit: who holds it comes before whatever its edits make of the plan."""
    refusal: ConsoleError | None = None
    plan: Plan | None = None
    try:
        policy.unlocked(facts, own_runs)
        policy.unguarded(facts, own_runs)
    except ConsoleError as error:
        refusal = error
    try:
        plan = await planner()
        policy.permitted(plan, facts)
        policy.of_this_unit(plan, facts)
        policy.whole(plan)
        policy.pending(plan, accept=accept_pending)
        capacity.refuse(plan)
    except ConsoleError as error:
        refusal = refusal or error
    return Decision(plan, refusal)
