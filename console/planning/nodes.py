"""An engine on several hosts: one plan out of those of its ranks, and of that plan what is for one host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console.errors import RefusedError
from console.schema.change import Change, FileChange, NodeStart, ReloadChange, RestartChange
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.schema.plan import Activation, FileEdit, Plan
from console.schema.runbook import Runbook

# What is asked of every rank; the other steps look at what serves, or act once for all.
OF_EVERY_RANK = frozenset({"host.preflight", "unit.set", "systemd.daemon_reload", "service.restart"})
TOGETHER = "its ranks start and stop together"


def runbook_of_rank(runbook: Runbook) -> Runbook:
    """What of a runbook is asked of a rank that serves nothing; its steps keep their names."""
    named = zip(runbook.step_ids(), runbook.step, strict=True)
    steps = [step.model_copy(update={"id": name}) for name, step in named if step.uses in OF_EVERY_RANK]
    return runbook.model_copy(update={"step": tuple(steps)})


def joined(plan: Plan, parts: Sequence[Plan], facts: Facts) -> Plan:
    """One plan of all ranks: edit all, reload all, stop all and start all. Raises RefusedError where they differ."""
    names = tuple(part.target.host_name for part in parts)
    changes = list(plan.changes)
    steps = list(plan.steps)
    for part in parts:
        _same(plan, part)
        for phase, own in enumerate(_phases(part)):
            added = [_on(change, part.target.host_name) for change in own if isinstance(change, FileChange)]
            beside = [change for change in _phases(plan)[phase] if isinstance(change, FileChange)]
            if not added:
                continue
            last = max(changes.index(change) for change in beside)
            changes[last + 1 : last + 1] = added
            at = next(index for index, step in enumerate(steps) if beside[-1].id in step.changes)
            more = (*steps[at].changes, *(change.id for change in added))
            steps[at] = steps[at].model_copy(update={"changes": more})
    starts = tuple(
        NodeStart(
            node=name,
            invocation_before=seen.unit.invocation_id,
            n_restarts_before=seen.unit.n_restarts,
            job_before=seen.unit.job,
        )
        for name, seen in zip(names, facts.nodes, strict=True)
    )
    warnings = [f"{part.target.host_name}: {text}" for part in parts for text in part.warnings]
    if plan.guard_s is not None:
        warnings.append(f"no guard is armed: none on one host could put back all {len(parts) + 1}")
    return plan.model_copy(
        update={
            "changes": tuple(_everywhere(change, names, starts) for change in changes),
            "steps": tuple(steps),
            "edits": (*plan.edits, *(_edit_on(edit, part) for part in parts for edit in part.edits)),
            "deciding": deciding(facts),
            "activation": _activation(plan, parts),
            "warnings": (*plan.warnings, *dict.fromkeys(warnings)),
            "wont_come_back": (
                *plan.wont_come_back,
                *(f"{part.target.host_name}: {text}" for part in parts for text in part.wont_come_back),
            ),
            "guard_s": None,
        }
    )


def _same(plan: Plan, part: Plan) -> None:
    """The same settings from the same values, by the same reloads and restarts, or nothing is planned at all."""
    for one, other in ((plan.settings, part.settings), (plan.unchanged, part.unchanged)):
        ours, theirs = ({setting.sentence for setting in each} for each in (one, other))
        if ours != theirs:
            here = "; ".join(sorted(ours - theirs)) or "nothing"
            there = "; ".join(sorted(theirs - ours)) or "nothing"
            raise RefusedError(
                f"{part.target.host_name} is not as rank 0 is: there {there}, here {here}",
                where=plan.target.name,
                hint=f"{TOGETHER} and must agree: make them the same by hand first; an interrupted run is gone on "
                "with (console resume) or put back (console rollback)",
            )
    kinds = [[sorted({change.kind for change in phase}) for phase in _phases(each)] for each in (plan, part)]
    ours_, theirs_ = ([set(phase) & {"file", "reload", "restart"} for phase in each] for each in kinds)
    if ours_ != theirs_:
        raise RefusedError(
            f"{part.target.host_name} needs other steps than rank 0 (reload, restart): {TOGETHER}",
            where=plan.target.name,
            hint=f"put the setting into the same kind of file on all; systemctl status {plan.target.service.unit}",
        )


def _phases(plan: Plan) -> list[list[Change]]:
    """The changes up to each restart, and those after the last one."""
    found: list[list[Change]] = [[]]
    for change in plan.changes:
        found[-1].append(change)
        if isinstance(change, RestartChange):
            found.append([])
    return found


def _on(change: FileChange, node: str) -> FileChange:
    return change.model_copy(update={"node": node, "id": f"{change.id}-{node}", "summary": f"{node}: {change.summary}"})


def _edit_on(edit: FileEdit, part: Plan) -> FileEdit:
    name = part.target.host_name
    return edit.model_copy(update={"node": name, "change": f"{edit.change}-{name}", "diff": f"on {name}:\n{edit.diff}"})


def _everywhere(change: Change, names: tuple[str, ...], starts: tuple[NodeStart, ...]) -> Change:
    if isinstance(change, ReloadChange):
        return change.model_copy(update={"nodes": names})
    if isinstance(change, RestartChange):
        words = f"stop {change.unit} on {len(names) + 1} hosts, start it on all"
        return change.model_copy(update={"nodes": starts, "summary": words})
    return change


def _activation(plan: Plan, parts: Sequence[Plan]) -> Activation:
    named = [("", plan.activation), *((f"{part.target.host_name}: ", part.activation) for part in parts)]
    return Activation(
        words_added=tuple(f"{name}{word}" for name, each in named for word in each.words_added),
        words_removed=tuple(f"{name}{word}" for name, each in named for word in each.words_removed),
        environment=tuple(f"{name}{line}" for name, each in named for line in each.environment),
        reason="; ".join(f"{name}{each.reason}" for name, each in named if each.reason),
    )


def deciding(facts: Facts) -> dict[str, str]:
    """See Plan.deciding."""
    found = {file.real_path: "" if file.missing else file.sha256 for file in facts.files}
    for seen in facts.nodes:
        host = seen.host_name
        found |= {f"{host}:{file.real_path}": "" if file.missing else file.sha256 for file in seen.files}
    return found


def shares(plan: Plan, facts: Facts) -> Iterator[tuple[Plan, Facts]]:
    """What of a plan each host sees, rank 0 first; a plan of one host is its own share."""
    yield share(plan, plan.target), facts
    for node, seen in zip(plan.target.nodes, facts.nodes, strict=True):
        yield share(plan, node), seen


def share(plan: Plan, place: Target) -> Plan:
    """The part of a plan that is for one host, as if there were no others."""
    if not plan.target.nodes:
        return plan
    name = place.node
    changes = [alone for change in plan.changes if (alone := _alone_on(change, name)) is not None]
    return plan.model_copy(
        update={
            "target": place.model_copy(update={"nodes": ()}),
            "changes": tuple(changes),
            "edits": tuple(edit.model_copy(update={"node": ""}) for edit in plan.edits if edit.node == name),
        }
    )


def _alone_on(change: Change, node: str) -> Change | None:
    if isinstance(change, FileChange):
        return change.model_copy(update={"node": ""}) if change.node == node else None
    if isinstance(change, ReloadChange):
        return change.model_copy(update={"nodes": ()})
    if isinstance(change, RestartChange):
        start = next((each for each in change.nodes if each.node == node), None)
        return restart_on(change, start)
    return None if node else change


def restart_on(change: RestartChange, start: NodeStart | None) -> RestartChange:
    """The restart as one host sees it; None: rank 0."""
    before = {} if start is None else start.model_dump(exclude={"node"})
    return change.model_copy(update={"nodes": (), **before})
