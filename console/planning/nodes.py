"""An engine on several hosts: its ranks as hosts.toml declares them, held against their words, and one plan of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console.engines.base import Engine
from console.engines.recognise import several_nodes
from console.errors import RefusedError
from console.schema.change import Change, FileChange, NodeStart, ReloadChange, RestartChange
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.schema.plan import Activation, FileEdit, Plan
from console.schema.runbook import Runbook
from console.settings import resolve
from console.settings.flags import sought
from console.settings.levels import level_of_words

# What is asked of every rank; the other steps look at what serves, or act once for all.
OF_EVERY_RANK = frozenset({"host.preflight", "unit.set", "systemd.daemon_reload", "service.restart"})
TOGETHER = "its ranks start and stop together"


def check(facts: Facts, engine: Engine, target: Target) -> None:
    """Refuse an engine on several hosts that hosts.toml does not declare, or declares otherwise than it is started."""
    if target.rank:
        return
    if target.nodes and len(facts.nodes) != len(target.nodes):
        raise RefusedError("its nodes were not looked at", where=target.name)
    parallel: set[tuple[str, str]] = set()
    for rank, (place, seen) in enumerate(zip((target, *target.nodes), (facts, *facts.nodes), strict=True)):
        unit = resolve.unit_of(seen)
        on_disk = resolve.argv_on_disk(unit, resolve.environment_on_disk(unit))
        if target.nodes and not on_disk:
            raise RefusedError("what its files start there cannot be told: nothing to compare", where=place.name)
        for argv in filter(None, (seen.process.argv, on_disk)):
            if not target.nodes:
                _alone(argv, engine, target)
                continue
            _as_declared(argv, engine, place, rank, len(target.nodes) + 1)
            parallel.add((_value(argv, engine, "tensor_parallel"), _value(argv, engine, "pipeline_parallel")))
    if len(parallel) > 1:
        said = ", ".join(sorted(f"{tensor} x {pipeline}" for tensor, pipeline in parallel))
        raise RefusedError(
            f"its ranks disagree on tensor x pipeline parallelism: {said}",
            where=target.name,
            hint="one of them is no part of this engine, or was edited alone",
        )


def _alone(argv: Sequence[str], engine: Engine, target: Target) -> None:
    part = several_nodes(argv, engine)
    if not part:
        return
    ranks = not several_nodes(argv, engine, ranks=False)
    raise RefusedError(
        f"{part}: this unit is one part of an engine on several machines, which start and stop together",
        where=target.name,
        hint='nodes = ["HOST", …] on the service of rank 0 in hosts.toml names the others, in the order of their ranks'
        if ranks
        else "nodes = […] in hosts.toml is for the ranks of one engine (--nnodes): change these by hand, in one go",
    )


def _as_declared(argv: Sequence[str], engine: Engine, place: Target, rank: int, count: int) -> None:
    other = several_nodes(argv, engine, ranks=False)
    if other:
        raise RefusedError(
            f"{other}: nodes = […] in hosts.toml is for the ranks of one engine (--nnodes), and this is another split",
            where=place.name,
            hint="change its parts by hand, in one go",
        )
    for name, usual, wanted in (("--nnodes", "1", str(count)), ("--node-rank", "0", str(rank))):
        value = _flag(argv, engine, name) or usual
        if value != wanted:
            raise RefusedError(
                f"{name} {value}: nodes = […] in hosts.toml makes it {wanted} here",
                where=place.name,
                hint="rank 0 is the service's own host; nodes names the others, in the order of their ranks",
            )
    if rank == 0 and "--headless" in argv:
        raise RefusedError("--headless: this rank serves nothing, and rank 0 must", where=place.name)
    tensor, pipeline = _value(argv, engine, "tensor_parallel"), _value(argv, engine, "pipeline_parallel")
    if (tensor + pipeline).isdigit() and int(tensor) * int(pipeline) % count:
        raise RefusedError(
            f"{tensor} x {pipeline} GPUs (tensor x pipeline) cannot be spread evenly over {count} hosts",
            where=place.name,
            hint="nodes = […] in hosts.toml names another number of hosts than this engine has",
        )


def _flag(argv: Sequence[str], engine: Engine, flag: str) -> str:
    return level_of_words(tuple(argv), engine, sought(engine, flag=flag)).value or ""


def _value(argv: Sequence[str], engine: Engine, setting: str) -> str:
    if setting not in engine.spellings:
        return "1"
    return level_of_words(tuple(argv), engine, sought(engine, setting=setting)).value or "1"


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
        host = seen.target.partition("/")[0]
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
    name = place.host_name if place.rank else ""
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
