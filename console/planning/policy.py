"""What must be refused before a host is asked, and before the first change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.engines.base import Engine
from console.engines.recognise import several_nodes
from console.errors import EngineAuthError, LockHeldError, PendingChangesError, RefusedError, SudoError, UsageError
from console.schema.change import CommandChange
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.schema.plan import Plan
from console.schema.runbook import Runbook
from console.secrets import MASK
from console.steps.registry import STEP_KINDS
from console.untrusted import one_line


def attended(runbook: Runbook, targets: Sequence[Target], *, terminal: bool, yes: bool, reason: str) -> None:
    """Refuse a run that would need an answer nobody can give, and a protected host without its due."""
    protected = [target.host_name for target in targets if target.host.protected]
    if protected and not reason:
        raise UsageError(f"{', '.join(protected)} is protected: a change there needs a reason", hint="--reason TEXT")
    if terminal or yes:
        return
    if protected:
        raise UsageError(
            f"{', '.join(protected)} is protected and there is no terminal to ask at",
            hint="--yes --reason TEXT, or run it at a terminal",
        )
    if runbook.unattended == "refuse" and (runbook.confirm or may_change(runbook)):
        raise UsageError(
            f"{runbook.name} asks before it changes anything and there is no terminal to ask at",
            hint='--yes, or unattended = "proceed" in the runbook',
        )


def may_change(runbook: Runbook) -> bool:
    """Whether a step of the runbook may change a host: then a person is asked, with or without a `confirm` text."""
    return any(
        kind.changes and step.own.get("mutates", True) is not False
        for step in runbook.step
        if (kind := STEP_KINDS.get(step.uses)) is not None
    )


def keys(targets: Sequence[Target], environment: Mapping[str, str]) -> None:
    """Refuse when a service's key is not in the operator's environment."""
    for target in targets:
        variable = target.service.api_key_env
        if variable and not environment.get(variable):
            raise UsageError(
                f"{target.name}: the variable {variable} is not set",
                hint=f"export {variable}=… (api_key_env in hosts.toml names it)",
            )


def usable(facts: Facts) -> None:
    """Refuse a unit that does not exist, is masked, or an engine that refuses our key."""
    unit = facts.unit
    if unit.load_state == "not-found":
        raise RefusedError(
            f"no unit {unit.id} on this host",
            where=facts.target,
            hint="systemctl list-units 'sglang*' names those there",
        )
    if unit.load_state == "masked":
        raise RefusedError(f"{unit.id} is masked", where=facts.target, hint=f"systemctl unmask {unit.id}")
    if unit.load_state in ("bad-setting", "error"):
        raise RefusedError(
            f"systemd cannot load {unit.id} ({unit.load_state})",
            where=facts.target,
            hint=f"systemd-analyze verify {unit.id}",
        )
    unreadable = [file for file in facts.files if file.error]
    if unreadable:
        raise RefusedError(f"{unreadable[0].path} cannot be read: {unreadable[0].error}", where=facts.target)
    if unit.active_state == "active" and facts.process.foreign_pid:
        raise RefusedError(
            f"the service's port is answered by process {facts.process.foreign_pid}, which is not of {unit.id}: "
            "what it serves would say nothing about this unit",
            where=facts.target,
            hint="a stale process, or an engine in a container, which this release does not follow",
        )
    if facts.serving is not None and facts.serving.refused:
        raise EngineAuthError(
            "the engine refused our key (401): what is served could not be proven afterwards",
            where=facts.target,
            hint="api_key_env in hosts.toml names the variable that holds the key",
        )


def unlocked(facts: Facts, own_runs: Sequence[str] = ()) -> None:
    """Refuse while another run holds the unit."""
    lock = facts.lock
    # A lock whose document cannot be read names no run, and a run without a parent none either: that is no match.
    if lock.held and not (lock.run and lock.run in own_runs):
        raise LockHeldError(
            f"run {lock.run or 'unknown'} of {lock.operator or 'somebody'} holds the lock since {lock.since or '?'}",
            where=facts.target,
            hint="wait for it, or stop it where it runs",
        )


def unguarded(facts: Facts, own_runs: Sequence[str] = ()) -> None:
    """Refuse while the guard of another run is armed: it would judge what this one does."""
    guard = facts.guard
    if guard.run and not guard.idle and guard.run not in own_runs:
        due = f", it looks in {guard.fires_in_s:.0f} s" if guard.fires_in_s is not None else ""
        raise LockHeldError(
            f"the guard of run {guard.run} is armed{due}",
            where=facts.target,
            hint=f"finish that run first: console takeover {guard.run}, or console rollback {facts.target}",
        )


def pending(plan: Plan, *, accept: bool) -> None:
    """Refuse a restart that would activate argv words which are not ours."""
    activation = plan.activation
    restarts = any(change.kind == "restart" for change in plan.changes)
    if not restarts or accept or not activation.needs_accept:
        return
    words = [f"- {word}" for word in activation.words_removed] + [f"+ {word}" for word in activation.words_added]
    listed = "\n    ".join(one_line(word, 160) for word in words)
    raise PendingChangesError(
        f"this restart also activates what this run does not edit:\n    {listed}",
        where=plan.target.name,
        hint="look at it, then --accept-pending; or restart it first for its own sake",
    )


def one_node(argv: Sequence[str], engine: Engine, target: Target) -> None:
    """Refuse an engine that is one part of several: the others would go on with the old setting."""
    part = several_nodes(argv, engine)
    if part:
        raise RefusedError(
            f"{part}: this unit is one part of an engine on several machines, which start and stop together",
            where=target.name,
            hint="not done by this program yet: change all parts by hand, in one go",
        )


def permitted(plan: Plan, facts: Facts) -> None:
    """Refuse a plan that changes something when sudo would not let us (7)."""
    if not plan.mutates() or facts.host.sudo in ("root", "passwordless"):
        return
    reasons = {
        "password": "sudo wants a password",
        "refused": "sudo is not allowed",
        "absent": "there is no sudo and the login user is not root",
    }
    raise SudoError(
        f"{reasons[facts.host.sudo]} for {facts.host.login_user}",
        where=plan.target.name,
        hint="on the host, as that user, 'sudo -n true' must succeed",
    )


def of_this_unit(plan: Plan, facts: Facts) -> None:
    """Refuse to edit a file that decides other units too, under its own name or under the one its link leads to."""
    for edit in plan.edits:
        shared = decides_others(edit.path) or decides_others(edit.real_path)
        if shared:
            linked = f" (a link to {edit.real_path})" if edit.real_path != edit.path else ""
            raise RefusedError(
                f"{edit.path}{linked} decides other units too ({shared})",
                where=plan.target.name,
                hint="put the setting into a drop-in of this unit alone",
            )
        others = sorted({each.named_in for each in facts.shared if each.path == edit.path})
        if others:
            raise RefusedError(
                f"{edit.path} is named by other units too: {', '.join(others)}",
                where=plan.target.name,
                hint="give this unit a file of its own, or put the setting into a drop-in of this unit alone",
            )


def whole(plan: Plan) -> None:
    """Refuse a command that holds a mask: a kept plan has no secrets, and what stood there cannot be guessed."""
    commands = [change.command for change in plan.changes if isinstance(change, CommandChange)]
    commands += [str(step.fields.get("command", "")) for step in plan.steps if not (step.skipped or step.changes)]
    for command in commands:
        if MASK in command:
            raise RefusedError(
                f"the command {one_line(command, 80)!r} holds a secret that was masked where it was kept",
                where=plan.target.name,
                hint="plan and run it in one go, from the runbook",
            )


def decides_others(path: str) -> str:
    """Which other units a file decides, by its name alone; empty when it is this unit's own."""
    folder, _, name = path.rpartition("/")
    folder_name = folder.rpartition("/")[2]
    if folder_name == "service.d":
        return "every service"
    if folder_name.endswith("-.service.d"):
        return f"every unit named {folder_name.removesuffix('.service.d')}*"
    stem = folder_name.removesuffix(".d") if folder_name.endswith(".d") else name
    if "@." in stem:
        return f"every instance of {stem}"
    return ""
