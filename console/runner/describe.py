"""Values of a run in the form its events carry them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from console.engines.base import Engine
from console.facts.watch import Watch
from console.planning import differences
from console.planning.estimates import prices as prices
from console.schema.change import Change, FileChange, RestartChange
from console.schema.events import EditPlanned, Event, PlanMade
from console.schema.facts import PRIVATE, Facts
from console.schema.hosts import Inventory
from console.schema.plan import Plan, PlannedStep
from console.steps.coming_back import comes_back
from console.steps.levels import event_of, levels_of

# What engines and the libraries under them read: part of what must be the same for two figures to be comparable.
ENGINE_VARIABLES = (
    "CUDA_", "GGML_", "HF_", "LLAMA_", "NCCL_", "NVIDIA_", "OMP_", "PYTORCH_", "ROCR_", "SGLANG_", "SGL_", "TORCH",
    "TRITON_", "VLLM_",
)  # fmt: skip


def facts(read: Facts) -> dict[str, Any]:
    """Facts for the log. Of the process's environment only what engines read: the rest is nobody's business."""
    body = read.model_dump(mode="json", exclude=PRIVATE)
    kept = {name: value for name, value in read.process.environment.items() if name.startswith(ENGINE_VARIABLES)}
    body["process"]["environment"] = dict(sorted(kept.items()))
    return body


def router(inventory: Inventory, target: str) -> str:
    """The groups that a target is a replica of, as its record tells them; empty: nothing in front of it."""
    return ", ".join(
        f"group {name} of {len(group.members)}, min_ready={group.min_ready}"
        for name, group in inventory.groups.items()
        if target in group.members
    )


def plan_events(plan: Plan, read: Facts, engine: Engine) -> Iterator[Event]:
    """Levels as they stand, each edit, and the plan as a whole."""
    target = plan.target.name
    settings = (*plan.settings, *plan.unchanged)
    for setting in settings:
        yield event_of(target, levels_of(read, engine, setting.setting))
    also = tuple(differences.pair(plan.activation))
    for edit in (edit for edit in plan.edits if not edit.node):
        for setting in plan.settings:
            if setting.path == edit.path:
                yield EditPlanned(
                    target=target,
                    step=edit.steps[-1],
                    file=f"{edit.path}:{setting.line}",
                    setting=setting.setting,
                    before=setting.before,
                    after=setting.after or "",
                    argv_before=plan.argv_before,
                    argv_after=plan.argv_after,
                    also_activates=also,
                    diff=edit.diff,
                    sha256_before=edit.sha256_before,
                    sha256_after=edit.sha256_after,
                )
    yield PlanMade(
        target=target,
        plan_sha256=plan.digest(),
        settings=tuple(setting.sentence for setting in settings),
        nothing_to_do=plan.nothing_to_do,
        steps=tuple(f"{step.id}: {step.skipped or step.title}" for step in plan.steps),
        warnings=plan.warnings,
        answers=plan.answers.model_dump(mode="json"),
        capacity=plan.capacity.model_dump(mode="json") if plan.capacity else None,
    )


def before(change: Change) -> dict[str, Any]:
    if isinstance(change, FileChange):
        return {"sha256": change.sha256_before}
    if not isinstance(change, RestartChange):
        return {}
    nodes = {start.node: start.invocation_before for start in change.nodes}
    return {"invocation": change.invocation_before, **({"nodes": nodes} if nodes else {})}


def standing(seen: Watch | None, unit: str) -> str:
    """Where the service stands when somebody stops: what was seen last, and nothing more."""
    if seen is None:
        return f"stopped; {unit} was not looked at since"
    state = f"{seen.unit.active_state}/{seen.unit.sub_state}"
    owner = {"unit": "port open", "foreign": "port held by another process"}.get(seen.port_owner, "port closed")
    return f"stopped; {unit} was {state}, invocation {seen.invocation[:8] or 'none'}, {owner} when last seen"


def passed(step: PlannedStep, read: Facts) -> str:
    """What a step that only judges facts has to say once it passed."""
    if step.uses == "host.preflight":
        return ", ".join(comes_back(read))
    return "nothing to write" if step.uses == "unit.backup" else ""
