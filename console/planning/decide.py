"""A plan, and the first refusal its run would end with; the same for `console plan` and for a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from console.errors import ConsoleError
from console.planning import capacity, nodes, policy
from console.planning.consent import NONE, Consent
from console.schema.facts import Facts
from console.schema.plan import Plan


@dataclass(frozen=True)
class Decision:
    """The plan as far as it could be made, and why it is not carried out."""

    plan: Plan | None
    refusal: ConsoleError | None


async def decide(
    facts: Facts,
    planner: Callable[[], Awaitable[Plan]],
    *,
    own_runs: Sequence[str] = (),
    consent: Consent = NONE,
    undoes: bool = False,
    login: tuple[int | None, datetime] | None = None,
) -> Decision:
    """Plan, also while another run holds the unit: who holds it comes before whatever its edits make of the plan.

    `undoes`: the plan goes on with an earlier run or back, whose reach and owners were agreed to then.
    `login`: when the certificate of this login ends, and now.
    """
    refusal: ConsoleError | None = None
    plan: Plan | None = None
    try:
        for seen in (facts, *facts.nodes):
            policy.unlocked(seen, own_runs)
            policy.unguarded(seen, own_runs)
    except ConsoleError as error:
        refusal = error
    try:
        plan = await planner()
        if not plan.changes and all(step.uses == "host.command" for step in plan.steps):
            refusal = None  # a look is in nobody's way
            policy.whole(plan)
            return Decision(plan, None)
        if login is not None and not undoes:
            policy.login_lasts(plan, *login, be_here=consent.be_here)
        policy.comes_back(plan, consent.restart_anyway)
        for share, seen in nodes.shares(plan, facts):
            policy.permitted(share, seen, be_here=consent.be_here or undoes)
            if not undoes:
                policy.of_this_unit(share, seen, consent.also_affects)
                policy.owned(share, seen, consent.temporary)
            policy.writable(share, seen)
            policy.reloads_alone(share, seen, accept=consent.accept_pending or undoes)
        policy.whole(plan)
        policy.pending(plan, accept=consent.accept_pending)
        capacity.refuse(plan)
    except ConsoleError as error:
        refusal = refusal or error
    return Decision(plan, refusal)
