"""Runbook + target + facts → plan. Every refusal that can come, comes here; nothing is written anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from console.clock import stamp
from console.engines.base import Engine
from console.errors import ConsoleError
from console.planning import answers, capacity, differences, estimates, groups, lint, nodes, policy, ranks, references
from console.schema.capacity import DecodeLaw
from console.schema.change import (
    ABSENT,
    BalancerChange,
    Change,
    CommandChange,
    FileChange,
    ReloadChange,
    RestartChange,
)
from console.schema.facts import Facts, UnitFile
from console.schema.group import GroupSeen
from console.schema.hosts import Target
from console.schema.plan import FileEdit, Plan, PlannedStep, SettingChange
from console.schema.runbook import Runbook, Value
from console.schema.splice import Splice, apply, compose
from console.schema.toml_file import validate
from console.secrets import Redactor
from console.settings import resolve, unit_sanity
from console.settings.edit import Edit
from console.settings.elsewhere import refuse_real_path
from console.settings.flags import sought
from console.settings.names import SETTINGS
from console.steps.base import Look, Skip, Step
from console.units.effective import EffectiveUnit
from console.untrusted import one_line


@dataclass
class Draft:
    """A plan while its steps are asked one after the other."""

    unit: EffectiveUnit
    original: EffectiveUnit
    reload_due: bool
    restart_due: bool
    steps: list[PlannedStep] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    open_edits: dict[str, OpenEdit] = field(default_factory=dict)
    edits: list[FileEdit] = field(default_factory=list)
    settings: list[SettingChange] = field(default_factory=list)
    unchanged: list[SettingChange] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    wont_come_back: list[str] = field(default_factory=list)

    def next_id(self) -> str:
        return f"c{len(self.changes) + len(self.open_edits) + 1}"


@dataclass
class OpenEdit:
    """The joined edits of one file that no other change has come after yet."""

    change_id: str
    before: bytes
    splices: tuple[Splice, ...]
    steps: list[str]
    settings: list[str]
    needs_reload: bool = True
    makes: bool = False


def make_plan(
    runbook: Runbook,
    target: Target,
    facts: Facts,
    engine: Engine,
    variables: Mapping[str, Value],
    *,
    redactor: Redactor,
    now: datetime,
    law: DecodeLaw | None = None,
    front: Sequence[GroupSeen] = (),
) -> Plan:
    """The plan of one target. Raises what a host or a file refuses (exit 1), InvalidFileError (2).

    `law`: how decoding slows with context on this target, as last measured. `front`: the groups it is a member of.
    """
    if not policy.only_commands(runbook):
        policy.usable(facts)
    values = references.values_of(target, variables, facts)
    unit = resolve.unit_of(facts)
    disk_environment = resolve.environment_on_disk(unit)
    disk_argv = resolve.argv_on_disk(unit, disk_environment)
    redactor.learn_words(disk_argv or [])
    redactor.learn_environment(disk_environment)
    activation = differences.activation(facts, disk_argv, disk_environment, redactor)
    draft = Draft(
        unit=unit,
        original=unit,
        reload_due=facts.unit.need_daemon_reload,
        restart_due=activation.needs_accept or facts.unit.active_state in ("inactive", "failed"),
    )
    load_s = facts.load_times_s[0] if facts.load_times_s else None
    draft.warnings.extend(redactor.text(each.text) for each in unit_sanity.findings(unit, engine, load_s))
    if not (target.part_of and nodes.looks_at_a_part(runbook)):
        ranks.check(facts, engine, target)
    steps = _steps(runbook, values)
    for index, (step_id, table, step) in enumerate(steps):
        _plan_step(
            draft, runbook, index, step_id, table, step, Context(target, facts, engine, redactor, values, tuple(front))
        )
    _close_edits(draft, facts, redactor)
    _stay_in(draft)
    for moved in draft.changes:
        if isinstance(moved, BalancerChange) and moved.way == "out":
            groups.enough(next(group for group in front if group.name == moved.group), target.name)
    draft.warnings.extend(_without_undo(draft, runbook))
    if not target.rank:
        policy.provable(draft.settings, [step.uses for _, _, step in steps], engine, target)
        policy.judged(draft.settings, draft.steps, target)
    for change in draft.settings:
        if change.setting == "context_length":
            draft.warnings.extend(groups.mixed(front, change.after or "", engine))
    after = resolve.argv_on_disk(draft.unit, resolve.environment_on_disk(draft.unit))
    nothing = not draft.changes and bool(draft.unchanged)
    plan = Plan(
        target=target,
        runbook=runbook.name,
        runbook_path=runbook.path,
        title=runbook.title,
        runbook_sha256=runbook.sha256,
        runbook_text=redactor.text(runbook.text),
        variables=dict(variables),
        made_at=stamp(now),
        steps=tuple(_in_order(draft, nothing=nothing)),
        changes=tuple(draft.changes),
        edits=tuple(draft.edits),
        settings=tuple(draft.settings),
        unchanged=tuple(draft.unchanged),
        deciding={file.real_path: "" if file.missing else file.sha256 for file in facts.files},
        boot_id=facts.host.boot_id,
        invocation_id=facts.unit.invocation_id,
        argv_before=tuple(redactor.words(disk_argv or [])),
        argv_after=tuple(redactor.words(after or [])),
        activation=activation,
        warnings=tuple(draft.warnings),
        wont_come_back=tuple(draft.wont_come_back),
        old_limit_tokens=estimates.old_limit_tokens(
            facts, engine, edited=any(change.setting == "context_length" for change in draft.settings)
        ),
        load_estimate_s=estimates.load_time_s(target, facts),
        nothing_to_do=nothing,
        confirm=str(references.render(runbook.confirm, values)) if draft.changes else "",
        guard_s=runbook.guard if draft.changes else None,
        guard_if=runbook.guard_if,
        on_failure=runbook.on_failure,
    )
    if target.rank:
        return plan
    if target.nodes:
        parts = [
            _of_rank(nodes.runbook_of(node, runbook), node, seen, engine, variables, redactor, now)
            for node, seen in zip(target.nodes, facts.nodes, strict=True)
        ]
        for part, seen in zip(parts, facts.nodes, strict=True):
            if part.target.part:
                capacity.refuse(answers.judged(part, seen, engine))
        plan = nodes.joined(plan, parts, facts)
    plan = answers.answered(plan, facts, engine, law=law)
    if plan.confirm and plan.capacity and plan.capacity.decode:
        plan = plan.model_copy(update={"confirm": f"{plan.confirm} {plan.capacity.decode.text}."})
    return plan


def _of_rank(
    runbook: Runbook,
    node: Target,
    facts: Facts,
    engine: Engine,
    variables: Mapping[str, Value],
    redactor: Redactor,
    now: datetime,
) -> Plan:
    """The plan of a rank that serves nothing; a refusal says on which host."""
    try:
        return make_plan(runbook, node, facts, engine, variables, redactor=redactor, now=now)
    except ConsoleError as error:
        error.where = error.where if node.name in error.where else f"{node.name} {error.where}".strip()
        raise


@dataclass(frozen=True)
class Context:
    """What stays the same while one plan is drafted."""

    target: Target
    facts: Facts
    engine: Engine
    redactor: Redactor
    values: Mapping[str, Any]
    front: tuple[GroupSeen, ...] = ()


def _steps(runbook: Runbook, values: Mapping[str, Any]) -> list[tuple[str, Any, Step]]:
    """Every step with its references rendered and its keys checked."""
    found = []
    for index, (step_id, table) in enumerate(zip(runbook.step_ids(), runbook.step, strict=True)):
        kind = lint.kind_of(table, lint.location(runbook, index))
        rendered = references.render(table.own, values)
        if table.when is not None and not references.holds(table.when, values):
            # A skipped step may hold references to empty variables that would not pass its own checks.
            found.append((step_id, table, kind.model_construct(**rendered)))
            continue
        step = validate(kind, rendered, path=runbook.path, text=runbook.text, at=("step", index))
        found.append((step_id, table, step))
    return found


def _plan_step(
    draft: Draft, runbook: Runbook, index: int, step_id: str, table: Any, step: Step, context: Context
) -> None:
    skipped = ""
    made: list[str] = []
    title = step.summary
    if table.when is not None and not references.holds(table.when, context.values):
        skipped = f"when = {table.when!r} does not hold"
    else:
        title = step.title(context.target)
        try:
            skipped, made = _propose(draft, step, step_id, table.timeout, context)
        except ConsoleError as error:
            error.where = error.where or context.target.name
            raise
    moved = next((each for each in draft.changes if isinstance(each, BalancerChange) and each.id in made), None)
    draft.steps.append(
        PlannedStep(
            id=step_id,
            index=index + 1,
            uses=table.uses,
            title=moved.summary if moved else title,
            fields=step.own_fields() if not skipped.startswith("when") else {},
            timeout_s=table.timeout,
            on_failure=table.on_failure or runbook.on_failure,
            skipped=skipped,
            on_abort=step.on_abort,
            changes=tuple(made),
        )
    )


def _propose(
    draft: Draft, step: Step, step_id: str, timeout_s: float | None, context: Context
) -> tuple[str, list[str]]:
    """Ask a step for its changes; returns why it is skipped, and the ids of its changes."""
    look = Look(
        target=context.target,
        facts=context.facts,
        engine=context.engine,
        unit=draft.unit,
        step_id=step_id,
        change_id=draft.next_id(),
        timeout_s=timeout_s,
        reload_due=draft.reload_due,
        restart_due=draft.restart_due,
        on_warning=draft.warnings.append,
        groups=context.front,
        filled=lambda text: groups.filled(text, context.target),
        on_blocker=draft.wont_come_back.append,
    )
    skipped = ""
    made: list[str] = []
    for proposal in step.plan(look):
        if isinstance(proposal, Skip):
            skipped = proposal.reason
        elif isinstance(proposal, Edit):
            change_id = _add_edit(draft, proposal, step_id, context)
            made += [change_id] if change_id else []
        else:
            _close_edits(draft, context.facts, context.redactor)
            # The id was drawn before the open edits were closed; closing keeps the count, so it still is the next.
            draft.changes.append(proposal)
            made.append(proposal.id)
            if isinstance(proposal, ReloadChange):
                draft.reload_due = False
            elif isinstance(proposal, RestartChange):
                draft.restart_due = False
    return skipped, made


def _add_edit(draft: Draft, edit: Edit, step_id: str, context: Context) -> str:
    """Join an edit to the open one of its file; returns the change's id, or nothing when it is already so."""
    is_flag = edit.setting.startswith("-")
    # A flag that the engine knows as a setting is judged as that setting: will it fit, is it lossy, is it served?
    name = (sought(context.engine, flag=edit.setting).setting if is_flag else None) or edit.setting
    setting = SettingChange(
        setting=name,
        flag=edit.setting if is_flag else _flag(context.engine, edit.setting),
        before=edit.before,
        after=edit.after,
        path=edit.path,
        line=edit.line,
        lossy=name in SETTINGS and SETTINGS[name].loses(edit.after),
    )
    draft.warnings.extend(f"{edit.path}:{edit.line}: {note}" for note in edit.notes)
    if edit.already:
        draft.unchanged.append(setting)
        return ""
    refuse_real_path(edit.path, _file(context.facts, edit.path).real_path)
    draft.settings.append(setting)
    current = b"" if edit.makes else draft.unit.content(edit.path)
    opened = draft.open_edits.get(edit.path)
    if opened is None:
        opened = OpenEdit(draft.next_id(), current, (), [], [], edit.needs_reload, edit.makes)
        draft.open_edits[edit.path] = opened
    opened.splices = compose(opened.before, opened.splices, edit.splices)
    opened.steps.append(step_id)
    opened.settings.append(setting.sentence)
    after = apply(current, edit.splices)
    change_unit = draft.unit.with_drop_in if edit.makes else draft.unit.with_content
    draft.unit = change_unit(edit.path, after)
    draft.reload_due = draft.reload_due or edit.needs_reload
    draft.restart_due = True
    return opened.change_id


def _file(facts: Facts, path: str) -> UnitFile:
    """The file as it was seen; one that is to be made lies in the unit's own folder, wherever that leads."""
    found = next((file for file in facts.files if file.path == path), None)
    if found is not None:
        return found
    folder, _, name = path.rpartition("/")
    # It repeats a line of theirs, which may hold a key: whoever could not read it there cannot here.
    parts = [file.mode for file in facts.files if file.kind in ("fragment", "dropin") and not file.missing]
    return UnitFile(
        path=path,
        real_path=f"{facts.drop_in_folder or folder}/{name}",
        kind="dropin",
        mode=0o644 if all(mode & 0o004 for mode in parts) else 0o600,
        missing=True,
    )


def _flag(engine: Engine, setting: str) -> str:
    spelling = engine.spellings.get(setting)
    return spelling.flags[0] if spelling and spelling.flags else setting


def _close_edits(draft: Draft, facts: Facts, redactor: Redactor) -> None:
    """Turn the open edits into changes: from here on something else comes after them."""
    # What systemd reads at each start anyway is written last: until then a crash leaves the old unit whole.
    for path, opened in sorted(draft.open_edits.items(), key=lambda item: not item[1].needs_reload):
        file = _file(facts, path)
        after = apply(opened.before, opened.splices)
        change = FileChange(
            id=opened.change_id,
            step=opened.steps[-1],
            path=path,
            real_path=file.real_path,
            sha256_before=ABSENT if opened.makes else hashlib.sha256(opened.before).hexdigest(),
            sha256_after=hashlib.sha256(after).hexdigest(),
            splices=opened.splices,
            mode=file.mode,
            uid=file.uid,
            gid=file.gid,
            needs_reload=opened.needs_reload,
            folder=opened.makes and not facts.drop_in_folder,
            summary="; ".join(opened.settings),
        )
        draft.changes.append(change)
        draft.edits.append(
            FileEdit(
                path=path,
                real_path=file.real_path,
                splices=opened.splices,
                sha256_before=change.sha256_before,
                sha256_after=change.sha256_after,
                diff=differences.text_diff(path, None if opened.makes else opened.before, after, redactor),
                steps=tuple(opened.steps),
                change=change.id,
            )
        )
    draft.open_edits.clear()


def _stay_in(draft: Draft) -> None:
    """Nobody is taken out of a balancer for a run that restarts nothing."""
    if any(isinstance(change, RestartChange) for change in draft.changes):
        return
    gone = {change.id for change in draft.changes if isinstance(change, BalancerChange)}
    draft.changes = [change for change in draft.changes if change.id not in gone]
    for number, step in enumerate(draft.steps):
        if gone & set(step.changes):
            draft.steps[number] = step.model_copy(update={"changes": (), "skipped": "nothing is restarted"})


def _without_undo(draft: Draft, runbook: Runbook) -> Iterator[str]:
    """Commands whose effect a rollback would leave; a runbook may well mean that, so it is said and not refused."""
    if "rollback" not in {step.on_failure for step in draft.steps}:
        return
    where = {step.id: lint.location(runbook, step.index - 1) for step in draft.steps}
    for change in draft.changes:
        if isinstance(change, CommandChange) and not change.undo:
            command = one_line(change.command, 80)
            yield f"{where[change.step]}: {command!r} has no undo: a rollback leaves what it does, and fails (exit 5)"


def _no_restart(draft: Draft) -> bool:
    """Whether the runbook restarts where that is needed, and it is not needed."""
    return not any(isinstance(change, RestartChange) for change in draft.changes) and any(
        step.uses == "service.restart" for step in draft.steps
    )


def _in_order(draft: Draft, *, nothing: bool) -> list[PlannedStep]:
    """The steps with each joined edit made at the last of its steps; waits are skipped when nothing restarts."""
    last_step = {change.id: change.step for change in draft.changes}
    number = {step.id: step.index for step in draft.steps}
    ordered = []
    for step in draft.steps:
        here = tuple(change for change in step.changes if last_step.get(change) == step.id)
        elsewhere = [change for change in step.changes if last_step.get(change) != step.id]
        note = f"written with step {number[last_step[elsewhere[0]]]}" if elsewhere else ""
        skipped = step.skipped
        if not skipped and nothing and step.uses in ("service.wait_ready", "service.observe"):
            skipped = "nothing was restarted"
        if not skipped and step.uses == "service.drain" and _no_restart(draft):
            skipped = "nothing is restarted"
        if not skipped and nothing and step.uses.startswith("measure."):
            skipped = "nothing changed"
        if not skipped and nothing and step.uses == "unit.backup":
            skipped = "nothing is written"
        ordered.append(step.model_copy(update={"changes": here, "note": note, "skipped": skipped}))
    return ordered
