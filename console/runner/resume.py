"""Going on with an interrupted run: what is left of its plan on the host as it is now."""

from __future__ import annotations

from console.engines.base import Engine
from console.errors import RefusedError
from console.planning import capacity, policy
from console.remote.session import Reader
from console.runner import again
from console.runner.again import Earlier
from console.runner.rollback import rollback_plan
from console.schema.change import BalancerChange, Change, CommandChange, FileChange, ReloadChange
from console.schema.facts import Facts
from console.schema.plan import Plan
from console.steps import coming_back


async def resume_plan(earlier: Earlier, facts: Facts, reader: Reader, engine: Engine) -> Plan:
    """Edits not made, a reload and a restart where needed, the wait and the proof.

    A run that was putting its changes back goes on putting them back. Raises what planning raises.
    """
    if earlier.undoing:
        return await rollback_plan(earlier, facts, reader, engine)
    policy.usable(facts)
    plan = earlier.plan
    problems = coming_back.reasons(facts)
    if problems:
        raise RefusedError("; ".join(problems), where=plan.target.name, hint="mend this on the host first")
    root = earlier.root or earlier.run
    if any(entry.run == root and entry.state == "guard" for entry in facts.ledger):
        raise RefusedError(
            f"the guard on the host has put run {root} back",
            where=plan.target.name,
            hint=f"console rollback {root} proves and closes it; to try again, run the runbook anew",
        )
    seen = await again.seen_files(plan, reader, root)
    edits_left = any(state == "before" for state in seen.values())
    reload_left = edits_left or again.reload_due(facts)
    runs = again.runs_new(plan, facts, engine) if plan.settings else None
    restart_left = edits_left or runs is False or again.stopped(facts) or again.left_behind(plan, facts)
    changes: list[Change] = []
    steps = []
    for step in plan.steps:
        kept: list[str] = []
        skipped = step.skipped
        for change in (plan.change(change_id) for change_id in step.changes):
            skipped = _done(change, earlier, facts, seen_after=seen.get(change.id) == "after") or skipped
            if isinstance(change, ReloadChange):
                skipped = "" if reload_left else "systemd has read the files as they are"
            elif change.kind == "restart":
                needed = restart_left or (not plan.settings and change.id not in earlier.tried)
                skipped = "" if needed else f"started already, invocation {facts.unit.invocation_id[:8]}"
            elif isinstance(change, BalancerChange) and change.way == "out":
                # It may be made twice, and whoever came between may have put it in again.
                skipped = "" if restart_left else "nothing is restarted any more"
            if not skipped:
                kept.append(change.id)
                changes.append(again.from_here(change, facts))
        if step.uses in ("service.wait_ready", "service.verify"):
            skipped = ""
        elif step.uses == "capacity.check":
            skipped = "judged before the first change; now the proof decides"
        steps.append(step.model_copy(update={"changes": tuple(kept), "skipped": skipped}))
    activation = again.not_ours(facts, plan, seen, reader.redactor)
    what = "; ".join(setting.sentence for setting in plan.settings) or plan.title or plan.runbook
    left = again.refreshed(plan, facts, activation).model_copy(
        update={
            "steps": tuple(steps),
            "changes": tuple(changes),
            "confirm": f"Go on with {earlier.run} on {plan.target.host_name}: {what}?",
        }
    )
    return _as_judged(again.answered(left, facts, engine), plan)


def _as_judged(left: Plan, plan: Plan) -> Plan:
    """What was predicted before the first change, by the pool that ran then, is what the proof is compared with."""
    judged = plan.capacity
    if judged is None:
        return left
    answers = left.answers.model_copy(update={"fits": tuple(capacity.lines(judged))})
    return left.model_copy(update={"capacity": judged, "answers": answers})


def _done(change: Change, earlier: Earlier, facts: Facts, *, seen_after: bool) -> str:
    """Why a file or a command is not made again; empty when it is still to be made."""
    if isinstance(change, FileChange):
        return "written already" if seen_after else ""
    if isinstance(change, CommandChange) and change.id in earlier.tried:
        return "it ran, or may have run: what a command did cannot be seen, so it is not run again"
    return ""
