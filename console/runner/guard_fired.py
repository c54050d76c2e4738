"""What the guard on the host did while nobody was there, as events of the run it was armed for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from console.engines.registry import engine_named
from console.facts.collect import collect
from console.remote.ledger import read_ledger
from console.remote.session import Reader
from console.runner import again, front_door
from console.runs.target_state import ChangeState
from console.schema.change import BalancerChange, CommandChange, FileChange
from console.schema.events import ChangeUndone, Event, GuardChanged, UndoFinished, UndoStarted
from console.schema.facts import Facts
from console.schema.plan import Plan
from console.untrusted import one_line


async def told(
    run: str, plan: Plan, reader: Reader, changes: Mapping[str, ChangeState], emit: Callable[[Event], object]
) -> str:
    """Say that the guard put back what this run made, and whether the old state serves; empty when it did nothing.

    Raises ConnectError.
    """
    entries = {str(document.get("run")): document for document in await read_ledger(reader)}
    if entries.get(run, {}).get("state") != "guard":
        return ""
    target = plan.target.name
    emit(GuardChanged(target=target, state="fired", run=run, message="it put the files back and restarted the unit"))
    emit(UndoStarted(target=target, reason="the guard on the host put it back"))
    left = []
    for change in changes.values():
        if isinstance(change.change, BalancerChange):
            if entries[run].get("balancer") != "out":
                emit(ChangeUndone(**of(change, target), how="guard"))
            elif change.change.way == "out" and change.state != "undone":
                left.append(front_door.told(change.change))
            continue
        if isinstance(change.change, CommandChange):
            if change.state != "undone":
                what = one_line(change.change.command, 80)
                left.append(f"what {what!r} did is still there: a guard runs no commands")
            continue
        if not isinstance(change.change, FileChange):
            if change.state in ("intended", "undoing"):
                # Whether it happened or not, the guard restarted the unit after it.
                emit(ChangeUndone(**of(change, target), how="guard"))
            continue
        if await again.is_back(change.change, plan, reader):
            emit(ChangeUndone(**of(change, target), how="guard"))
        else:
            left.append(f"{change.change.path} is not as it was before the run")
    facts = await collect(reader, engine_named(plan.target.service.engine))
    problem = "; ".join(left) or not_proven(plan, facts)
    message = problem or "the guard on the host put it back, and the old state serves"
    emit(UndoFinished(target=target, proven=not problem, message=message))
    return f"{target}: {message}"


def of(change: ChangeState, target: str) -> dict[str, Any]:
    return {"target": target, "change": change.change, "step": change.step, "kind": change.change.kind}


def not_proven(plan: Plan, facts: Facts) -> str:
    """Why the old state cannot be said to serve; empty when the running process has it and answers."""
    if facts.serving is None or facts.serving.refused:
        return f"put back by the guard, but the engine does not answer: {facts.serving_reason}"
    engine = engine_named(plan.target.service.engine)
    for setting in plan.settings:
        value = again.running_value(facts, engine, setting.setting)
        if not again.same(engine, setting.setting, value, setting.before):
            return f"put back by the guard, but the process runs {setting.setting} {value}, not {setting.before}"
    return ""
