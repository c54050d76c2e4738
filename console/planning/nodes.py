"""An engine in several places: one plan out of those of its ranks or parts, and of that plan what is for one place."""

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
# Each part of a pair has a pool of its own, which must hold the window as well.
OF_EVERY_PART = OF_EVERY_RANK | {"capacity.check"}
LOOKS = frozenset({"capacity.check", "diagnose.decode"})


def runbook_of(node: Target, runbook: Runbook) -> Runbook:
    """What of a runbook is asked of a rank that serves nothing, or of the other part; its steps keep their names."""
    named = zip(runbook.step_ids(), runbook.step, strict=True)
    asked = OF_EVERY_PART if node.part else OF_EVERY_RANK
    steps = [step.model_copy(update={"id": name}) for name, step in named if step.uses in asked]
    return runbook.model_copy(update={"step": tuple(steps)})


def looks_at_a_part(runbook: Runbook) -> bool:
    """Whether it may be asked of one part of a pair alone: it changes nothing, and sends no request to a model."""
    return all(step.uses in LOOKS for step in runbook.step)


def joined(plan: Plan, parts: Sequence[Plan], facts: Facts) -> Plan:
    """One plan of all of them: edit all, reload all, stop all and start all. Raises RefusedError where they differ."""
    names = tuple(part.target.node for part in parts)
    changes = list(plan.changes)
    steps = list(plan.steps)
    for part in parts:
        _same(plan, part)
        _apart(plan, part, changes)
        for phase, own in enumerate(_phases(part)):
            added = [_on(change, part.target.node) for change in own if isinstance(change, FileChange)]
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
            node=part.target.node,
            unit=part.target.service.unit if part.target.part else "",
            invocation_before=seen.unit.invocation_id,
            n_restarts_before=seen.unit.n_restarts,
            job_before=seen.unit.job,
        )
        for part, seen in zip(parts, facts.nodes, strict=True)
    )
    warnings = [f"{part.target.node}: {text}" for part in parts for text in part.warnings]
    if plan.target.in_parts and starts and any(isinstance(change, RestartChange) for change in changes):
        warnings.append(
            f"the router ({plan.target.service.router}) is not restarted: it must find its servers again, and the "
            "generation that proves the change goes through it"
        )
    if plan.guard_s is not None:
        warnings.append(f"no guard is armed: none on one host could put back all {len(parts) + 1}")
    return plan.model_copy(
        update={
            "changes": tuple(_everywhere(change, names, starts, plan.target) for change in changes),
            "steps": tuple(steps),
            "edits": (*plan.edits, *(_edit_on(edit, part) for part in parts for edit in part.edits)),
            "deciding": deciding(facts),
            "activation": _activation(plan, parts),
            "warnings": (*plan.warnings, *dict.fromkeys(warnings)),
            "wont_come_back": (
                *plan.wont_come_back,
                *(f"{part.target.node}: {text}" for part in parts for text in part.wont_come_back),
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
                f"{part.target.node} is not as {plan.target.called} is: there {there}, here {here}",
                where=plan.target.name,
                hint=f"{together(plan.target)} and must agree: make them the same by hand first, and what is meant to "
                "differ is changed by hand; an interrupted run is gone on with (console resume) or put back "
                "(console rollback)",
            )
    kinds = [[sorted({change.kind for change in phase}) for phase in _phases(each)] for each in (plan, part)]
    ours_, theirs_ = ([set(phase) & {"file", "reload", "restart"} for phase in each] for each in kinds)
    if ours_ != theirs_:
        raise RefusedError(
            f"{part.target.node} needs other steps than {plan.target.called} (reload, restart): "
            f"{together(plan.target)}",
            where=plan.target.name,
            hint=f"put the setting into the same kind of file on all; systemctl status {plan.target.service.unit}",
        )


def together(target: Target) -> str:
    return "its parts start and stop together" if target.in_parts else "its ranks start and stop together"


def _apart(plan: Plan, part: Plan, changes: Sequence[Change]) -> None:
    """Parts on one host that take the setting from one file: an edit there is of neither alone."""
    hosts = {node.node: node.host_name for node in (plan.target, *plan.target.nodes)}
    own = {change.real_path for change in part.changes if isinstance(change, FileChange)}
    for change in changes:
        there = isinstance(change, FileChange) and hosts[change.node] == part.target.host_name
        if isinstance(change, FileChange) and there and change.real_path in own:
            raise RefusedError(
                f"{change.path} is read by {part.target.service.unit} and by another part on the same host",
                where=part.target.name,
                hint="give each unit a file of its own, or the setting in its command line",
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
    return change.model_copy(update={"node": node, "id": _id(change.id, node), "summary": f"{node}: {change.summary}"})


def _id(change: str, node: str) -> str:
    return f"{change}-{node.replace('/', '-')}"


def _edit_on(edit: FileEdit, part: Plan) -> FileEdit:
    name = part.target.node
    return edit.model_copy(update={"node": name, "change": _id(edit.change, name), "diff": f"on {name}:\n{edit.diff}"})


def _everywhere(change: Change, names: tuple[str, ...], starts: tuple[NodeStart, ...], target: Target) -> Change:
    if isinstance(change, ReloadChange):
        return change.model_copy(update={"nodes": names})
    if isinstance(change, RestartChange):
        return change.model_copy(update={"nodes": starts, "summary": target.restart_words})
    return change


def _activation(plan: Plan, parts: Sequence[Plan]) -> Activation:
    named = [("", plan.activation), *((f"{part.target.node}: ", part.activation) for part in parts)]
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
        node = seen.node
        found |= {f"{node}:{file.real_path}": "" if file.missing else file.sha256 for file in seen.files}
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
    unit = place.service.unit
    changes = [alone for change in plan.changes if (alone := _alone_on(change, name, unit)) is not None]
    return plan.model_copy(
        update={
            "target": place.model_copy(update={"nodes": ()}),
            "changes": tuple(changes),
            "edits": tuple(edit.model_copy(update={"node": ""}) for edit in plan.edits if edit.node == name),
        }
    )


def _alone_on(change: Change, node: str, unit: str) -> Change | None:
    if isinstance(change, FileChange):
        return change.model_copy(update={"node": ""}) if change.node == node else None
    if isinstance(change, ReloadChange):
        return change.model_copy(update={"nodes": (), "unit": unit})
    if isinstance(change, RestartChange):
        start = next((each for each in change.nodes if each.node == node), None)
        return restart_on(change, start)
    return None if node else change


def restart_on(change: RestartChange, start: NodeStart | None) -> RestartChange:
    """The restart as one host sees it; None: rank 0."""
    before = {} if start is None else start.model_dump(exclude={"node", "unit"})
    unit = start.unit if start is not None and start.unit else change.unit
    return change.model_copy(update={"nodes": (), "unit": unit, **before})
