"""Undoing an earlier run: a plan that leads back, made from what the host shows now."""

from __future__ import annotations

from collections.abc import Sequence

from console.changes import balancer
from console.changes import file as file_change
from console.engines.base import Engine
from console.planning import policy
from console.remote.session import Reader
from console.runner import again
from console.runner.again import Earlier, step
from console.schema.change import (
    BalancerChange,
    Change,
    CommandChange,
    FabricChange,
    FileChange,
    ReloadChange,
    RestartChange,
)
from console.schema.facts import Facts
from console.schema.plan import FileEdit, Plan, PlannedStep, SettingChange
from console.schema.splice import inverse
from console.steps import coming_back
from console.untrusted import one_line


async def rollback_plan(earlier: Earlier, facts: Facts, reader: Reader, engine: Engine) -> Plan:
    """Commands undone and files put back in reverse, a reload, a restart where the new state runs, and the proof.

    Nothing that the run did not do is undone, and a process that never ran the new state is not restarted.
    """
    policy.usable(facts)
    plan = earlier.plan
    seen = await again.seen_files(plan, reader, earlier.root or earlier.run)
    back = [change for change in plan.changes if isinstance(change, FileChange) and seen[change.id] == "after"]
    ran = [change for change in plan.changes if isinstance(change, CommandChange) and change.id in earlier.made]
    turned = tuple(reversed_setting(setting) for setting in plan.settings)
    changes: list[Change] = [
        _undone(change, turned) for change in reversed(plan.changes) if _leads_back(change, back, ran)
    ]
    unit = plan.target.service.unit
    words = plan.target.restart_words
    restored = [change.id for change in changes]
    reload = any(change.needs_reload for change in back) or again.reload_due(facts)
    restart = _restart_needed(earlier, facts, engine, bool(back))
    nodes = tuple(node.node for node in plan.target.nodes)
    steps: list[PlannedStep] = []
    into = _into_balancer(earlier)
    if into is not None and restart and facts.serving is not None:
        # Clients are sent to it, or may be: out first, as the run did. What serves nothing needs no leave to be mended.
        out = balancer.inverted(into).model_copy(
            update={
                "id": "lb-out",
                "step": "lb_out",
                "summary": f"take {into.member} out of the balancer of {into.group}",
            }
        )
        changes.insert(0, out)
        steps.append(step(0, out.step, "lb.out", out.summary, [out.id]))
        steps += _drained(earlier)
    if reload:
        changes.append(ReloadChange(id="reload", step="reload", unit=unit, nodes=nodes))
    if restart:
        fresh = RestartChange(id="restart", step="restart", unit=unit, invocation_before="", summary=words)
        changes.append(again.from_here(fresh, facts))
    proof = {"probe": "short", "require": "start"}
    steps += [
        step(0, "restore", "unit.restore", "put it back", restored, "so already"),
        step(0, "reload", "systemd.daemon_reload", "daemon-reload", ["reload"] if reload else [], "not needed"),
        step(0, "restart", "service.restart", words, ["restart"] if restart else [], "runs the old state"),
        step(0, "wait_ready", "service.wait_ready", "wait until the old setting serves"),
        step(0, "verify", "service.verify", "prove that the old setting serves", fields=proof),
    ]
    if into is not None:
        changes.append(into)
        steps.append(step(0, into.step, "lb.in", into.summary, [into.id]))
    left = [change for change in ran if not change.undo]
    way_back = again.refreshed(plan, facts, again.not_ours(facts, plan, seen, reader.redactor)).model_copy(
        update={
            "steps": tuple(each.model_copy(update={"index": index}) for index, each in enumerate(steps, start=1)),
            "changes": tuple(changes),
            "edits": tuple(reversed_edit(edit) for edit in plan.edits if edit.change in {change.id for change in back}),
            "settings": turned,
            "unchanged": (),
            "warnings": (
                *(f"has no undo, what it did stays: {one_line(change.command, 80)}" for change in left),
                *coming_back.reasons(facts),
            ),
            "argv_before": plan.argv_after,
            "argv_after": plan.argv_before,
            "old_limit_tokens": None,
            "guard_s": None,
            "on_failure": "stop",
            "confirm": f"Put {unit} on {plan.target.host_name} back: {'; '.join(s.sentence for s in turned)}?",
        }
    )
    return again.answered(way_back, facts, engine)


def _leads_back(change: Change, back: list[FileChange], ran: list[CommandChange]) -> bool:
    return change in back or (isinstance(change, CommandChange) and change in ran and bool(change.undo))


def _into_balancer(earlier: Earlier) -> BalancerChange | None:
    """Into its balancer again, after the proof, where the run took it out and may have left it there."""
    moves = [change for change in earlier.plan.changes if isinstance(change, BalancerChange)]
    out = next((change for change in moves if change.way == "out" and change.id in earlier.tried), None)
    if out is None:
        return None
    words = f"put {out.member} into the balancer of {out.group}"
    return balancer.inverted(out).model_copy(update={"id": "lb-in", "step": "lb_in", "summary": words})


def _drained(earlier: Earlier) -> list[PlannedStep]:
    """As long as the run waited for running requests; then the way back goes on, whatever the run would have done."""
    fields = [each.fields for each in earlier.plan.steps if each.uses == "service.drain" and not each.skipped]
    if not fields:
        return []
    return [step(0, "drain", "service.drain", "wait for running requests", fields={**fields[0], "then": "proceed"})]


def _undone(change: Change, turned: Sequence[SettingChange]) -> Change:
    if isinstance(change, FileChange):
        summary = "; ".join(setting.sentence for setting in turned if setting.path == change.path)
        return file_change.inverted(change).model_copy(update={"step": "restore", "summary": summary})
    assert isinstance(change, CommandChange)
    if isinstance(change, FabricChange):
        words = {"command": f"fab {change.undo}", "task": change.undo, "undo": change.task}
        return change.model_copy(update={**words, "args": {}, "step": "restore", "summary": f"undo: {change.summary}"})
    return change.model_copy(
        update={"command": change.undo, "undo": change.command, "step": "restore", "summary": f"undo: {change.summary}"}
    )


def _restart_needed(earlier: Earlier, facts: Facts, engine: Engine, files_back: bool) -> bool:
    """Whether a process runs, or last tried to run, what is being put back."""
    plan = earlier.plan
    if not plan.settings:
        return False
    restarted = any(isinstance(change, RestartChange) and change.id in earlier.tried for change in plan.changes)
    if again.stopped(facts):
        return restarted or files_back
    runs = again.runs_new(plan, facts, engine)
    return runs is True or (runs is None and restarted)


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
    turned: list[str] = []
    for line in diff.splitlines():
        if line == "--- /dev/null":
            continue
        if not turned and line.startswith("+++ b/"):
            turned += [line.replace("+++ b", "--- a"), "+++ /dev/null"]
        elif line.startswith(("--- ", "+++ ")):
            turned.append(line)
        else:
            turned.append({"+": "-", "-": "+"}.get(line[:1], line[:1]) + line[1:])
    return "\n".join(turned)
