"""Plans made from an earlier run: to go on with it, or to undo it. Both look at the host first."""

from __future__ import annotations

from collections.abc import Sequence

from console.changes import file as file_change
from console.changes.base import Seen
from console.changes.restart import from_now
from console.engines.base import Engine
from console.errors import ForeignEditError, RefusedError
from console.planning import answers, differences, estimates
from console.remote.files import read_file
from console.remote.session import Reader
from console.schema.change import Change, CommandChange, FileChange, ReloadChange, RestartChange
from console.schema.facts import Facts
from console.schema.plan import FileEdit, Plan, PlannedStep, SettingChange
from console.schema.splice import apply, inverse
from console.secrets import Redactor
from console.settings import resolve
from console.settings.resolve import unit_of
from console.untrusted import one_line


async def seen_files(plan: Plan, reader: Reader) -> dict[str, Seen]:
    """Each file change of a plan, and whether the host shows it. Raises ForeignEditError for somebody's later edit."""
    found: dict[str, Seen] = {}
    for change in plan.changes:
        if isinstance(change, FileChange):
            found[change.id] = await file_change.look(change, reader)
            if found[change.id] == "foreign":
                raise ForeignEditError(
                    f"{change.path} was edited since by somebody else: nothing is touched",
                    where=plan.target.name,
                    hint="compare it with the backup in the ledger on the host, and decide by hand",
                )
    return found


def runs_disk(facts: Facts, redactor: Redactor) -> bool:
    """Whether the running process has the words that the files say now."""
    unit = unit_of(facts)
    environment = resolve.environment_on_disk(unit)
    found = differences.activation(facts, resolve.argv_on_disk(unit, environment), environment, redactor)
    return facts.unit.active_state == "active" and not found.needs_accept and not found.reason


async def resume_plan(plan: Plan, facts: Facts, reader: Reader, engine: Engine) -> Plan:
    """What is left of a plan on this host as it is now: edits not made, reload and restart where needed, the proof."""
    seen = await seen_files(plan, reader)
    edits_left = any(state == "before" for state in seen.values())
    reload_left = edits_left or facts.unit.need_daemon_reload
    restart_left = edits_left or not runs_disk(facts, reader.redactor)
    changes: list[Change] = []
    steps: list[PlannedStep] = []
    for step in plan.steps:
        kept: list[str] = []
        skipped = step.skipped
        for change in (plan.change(change_id) for change_id in step.changes):
            if isinstance(change, CommandChange):
                skipped = "what a command did cannot be seen: it is not run again"
            elif isinstance(change, FileChange) and seen[change.id] == "after":
                skipped = "written already"
            elif isinstance(change, ReloadChange) and not reload_left:
                skipped = "systemd has read the files as they are"
            elif isinstance(change, RestartChange) and not restart_left:
                skipped = f"runs already, invocation {facts.unit.invocation_id[:8]}"
            else:
                kept.append(change.id)
                changes.append(now(change, facts))
        if step.uses in ("service.wait_ready", "service.verify"):
            skipped = ""
        steps.append(step.model_copy(update={"changes": tuple(kept), "skipped": skipped}))
    return refreshed(plan, facts, engine).model_copy(
        update={"steps": tuple(steps), "changes": tuple(changes), "nothing_to_do": False}
    )


async def rollback_plan(plan: Plan, facts: Facts, reader: Reader, engine: Engine) -> Plan:
    """The way back: files to what they were, a reload, a restart where a process runs the new state, and the proof."""
    seen = await seen_files(plan, reader)
    commands = [change for change in plan.changes if isinstance(change, CommandChange) and not change.undo]
    if commands:
        raise RefusedError(
            f"the command {one_line(commands[0].command, 80)!r} has no undo: what it did must be undone by hand",
            where=plan.target.name,
        )
    back = [change for change in plan.changes if isinstance(change, FileChange) and seen[change.id] == "after"]
    changes: list[Change] = [file_change.inverted(change).model_copy(update={"step": "restore"}) for change in back]
    changes.reverse()
    steps = [step(1, "restore", "unit.restore", "put the files back", [change.id for change in changes], "so already")]
    reload = bool(back) or facts.unit.need_daemon_reload
    restart = await restart_needed(back, facts, reader)
    unit = plan.target.service.unit
    if reload:
        changes.append(ReloadChange(id="reload", step="reload", unit=unit))
    if restart:
        changes.append(now(RestartChange(id="restart", step="restart", unit=unit, invocation_before=""), facts))
    steps += [
        step(2, "reload", "systemd.daemon_reload", "daemon-reload", ["reload"] if reload else [], "not needed"),
        step(3, "restart", "service.restart", f"restart {unit}", ["restart"] if restart else [], "runs the old state"),
        step(4, "wait_ready", "service.wait_ready", "wait until the old setting serves"),
        step(
            5,
            "verify",
            "service.verify",
            "prove that the old setting serves",
            fields={"probe": "short", "require": "start"},
        ),
    ]
    turned = tuple(reversed_setting(setting) for setting in plan.settings)
    return refreshed(plan, facts, engine).model_copy(
        update={
            "steps": tuple(steps),
            "changes": tuple(changes),
            "edits": tuple(reversed_edit(edit) for edit in plan.edits if edit.change in {change.id for change in back}),
            "settings": turned,
            "unchanged": (),
            "warnings": (),
            "argv_before": plan.argv_after,
            "argv_after": plan.argv_before,
            "nothing_to_do": False,
            "on_failure": "stop",
            "confirm": f"Put {unit} on {plan.target.host_name} back: {'; '.join(s.sentence for s in turned)}?",
        }
    )


async def restart_needed(back: Sequence[FileChange], facts: Facts, reader: Reader) -> bool:
    """Whether the running process would differ from the files once they are put back."""
    unit = unit_of(facts)
    for change in back:
        content = (await read_file(reader, change.real_path)).content
        unit = unit.with_content(change.path, apply(content, inverse(change.splices)))
    environment = resolve.environment_on_disk(unit)
    found = differences.activation(facts, resolve.argv_on_disk(unit, environment), environment, reader.redactor)
    return found.needs_accept or bool(found.reason)


def now(change: Change, facts: Facts) -> Change:
    """A restart starts from whatever runs now."""
    if not isinstance(change, RestartChange):
        return change
    return from_now(change, facts.unit)


def refreshed(plan: Plan, facts: Facts, engine: Engine) -> Plan:
    """A plan bound to the host as it is now."""
    fresh = plan.model_copy(
        update={
            "deciding": {file.real_path: "" if file.missing else file.sha256 for file in facts.files},
            "boot_id": facts.host.boot_id,
            "invocation_id": facts.unit.invocation_id,
            "load_estimate_s": estimates.load_time_s(plan.target, facts),
        }
    )
    return fresh.model_copy(update={"answers": answers.answer(fresh, facts, engine)})


def reversed_setting(setting: SettingChange) -> SettingChange:
    return setting.model_copy(update={"before": setting.after, "after": setting.before})


def reversed_edit(edit: FileEdit) -> FileEdit:
    return edit.model_copy(
        update={
            "splices": inverse(edit.splices),
            "sha256_before": edit.sha256_after,
            "sha256_after": edit.sha256_before,
            "diff": reversed_diff(edit.diff),
            "steps": ("restore",),
        }
    )


def reversed_diff(diff: str) -> str:
    """A unified diff read the other way."""
    turned = []
    for line in diff.splitlines():
        if line.startswith(("--- ", "+++ ")):
            turned.append(line)
        else:
            turned.append({"+": "-", "-": "+"}.get(line[:1], line[:1]) + line[1:])
    return "\n".join(turned)


def step(
    index: int,
    step_id: str,
    uses: str,
    title: str,
    changes: Sequence[str] | None = None,
    otherwise: str = "",
    fields: dict[str, str] | None = None,
) -> PlannedStep:
    """A step of our own making; one that should change something and need not is skipped with `otherwise`."""
    return PlannedStep(
        id=step_id,
        index=index,
        uses=uses,
        title=title,
        fields=fields or {},
        on_failure="stop",
        changes=tuple(changes or ()),
        skipped=otherwise if changes is not None and not changes else "",
        on_abort="stops now" if changes is None else "finishes this action",
    )
