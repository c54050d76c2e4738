"""What must be refused before a host is asked, and before the first change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from console.engines.base import Engine
from console.errors import (
    AuthenticationError,
    EngineAuthError,
    LockHeldError,
    PendingChangesError,
    RefusedError,
    SudoError,
    UsageError,
)
from console.planning import blast_radius, estimates, ownership
from console.schema.change import CommandChange
from console.schema.facts import ABLE, Facts
from console.schema.hosts import Target
from console.schema.plan import Plan, PlannedStep, SettingChange
from console.schema.runbook import Runbook
from console.secrets import MASK
from console.settings.drop_in import decides_others
from console.steps.registry import STEP_KINDS
from console.untrusted import one_line


def attended(runbook: Runbook, targets: Sequence[Target], *, terminal: bool, yes: bool, reason: str) -> None:
    """Refuse a run that would need an answer nobody can give, and a protected host without its due."""
    protected = [target.host_name for target in targets if target.protected]
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


def only_commands(runbook: Runbook) -> bool:
    """Whether it only looks at hosts with commands: then nobody's lock, guard or broken unit is in its way."""
    return all(step.uses == "host.command" for step in runbook.step) and not may_change(runbook)


def keys(targets: Sequence[Target], environment: Mapping[str, str]) -> None:
    """Refuse when a service's key is not in the operator's environment."""
    for target in targets:
        variable = target.service.api_key_env
        if variable and not environment.get(variable):
            raise UsageError(
                f"{target.name}: the variable {variable} is not set",
                hint=f"export {variable}=… (api_key_env in hosts.toml names it)",
            )


def whole_engine(target: Target) -> None:
    """Refuse what is only a part of a pair that another service is declared for."""
    if target.part_of:
        raise RefusedError(
            f"it is a part of {target.part_of}: both start and stop together",
            where=target.name,
            hint=f"name {target.part_of}: what is asked of it is asked of every part",
        )


def usable(facts: Facts) -> None:
    """Refuse a unit that does not exist, is masked, or an engine that refuses our key."""
    unit = facts.unit
    if unit.load_state == "not-found" and facts.user_units:
        raise of_a_user(facts)
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


def of_a_user(facts: Facts) -> RefusedError:
    """Locks, ledger and guard are root's: a unit of a user's own manager is refused, with the way on."""
    first = facts.user_units[0]
    others = f", and of {len(facts.user_units) - 1} more" if len(facts.user_units) > 1 else ""
    runs = "running" if first.running else "not running"
    ends = "" if first.linger else f"; it ends when {first.user} logs out (loginctl enable-linger {first.user})"
    by_hand = f"sudo -u {first.user} XDG_RUNTIME_DIR=/run/user/{first.uid} systemctl --user"
    return RefusedError(
        f"{facts.unit.id} is a user unit of {first.user}{others} ({first.path}, {runs}): "
        f"only units of the system's own service manager are changed{ends}",
        where=facts.target,
        hint=f"install it in /etc/systemd/system with User={first.user}; "
        f"or by hand: edit it, {by_hand} daemon-reload, and the same with restart {facts.unit.id}",
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


def provable(settings: Sequence[SettingChange], uses: Sequence[str], engine: Engine, target: Target) -> None:
    """Refuse a new window that the proof cannot see: it would be made, doubted and put back."""
    raised = any(each.setting == "context_length" for each in settings)
    if raised and "service.verify" in uses and not engine.tells_window:
        raise RefusedError(
            f"{engine.name} does not say which context it serves, so a new one could not be proven",
            where=target.name,
            hint="edit it by hand and look at what it answers; or a runbook with unit.set and without service.verify",
        )


def judged(settings: Sequence[SettingChange], steps: Sequence[PlannedStep], target: Target) -> None:
    """Refuse a change that may cost quality, where nothing in the run would see that it did."""
    lossy = [each for each in settings if each.lossy]
    gates = [
        step
        for step in steps
        if step.uses == "gate.quality" and not step.skipped and step.fields.get("parity") != "record"
    ]
    sets = max((step.index for step in steps if step.changes and step.uses == "unit.set"), default=0)
    starts = [step.index for step in steps if step.changes and step.uses == "service.restart" and step.index > sets]
    if not lossy or (starts and gates and gates[-1].index > starts[-1]):
        return
    raise RefusedError(
        f"{lossy[0].setting} = {lossy[0].after} may change what the model answers, and nothing after it asks for that",
        where=target.name,
        hint="a step gate.quality after service.verify; in change_setting.toml: --set quality=true",
    )


SUDO_HINTS = {
    "password": "--ask-sudo gives the password, asked once for all hosts",
    "each_call": "a rollback has many: let sudo allow the lines of console doctor {target} --sudoers without it, "
    "or --i-will-be-here and approve each one until the run has ended",
    "talks": "an approval at each call, it seems: let sudo allow the lines of console doctor {target} --sudoers "
    "without it",
    "one_time": "a rollback has many calls: let sudo allow the lines of console doctor {target} --sudoers without it",
}


def permitted(plan: Plan, facts: Facts, *, be_here: bool = False) -> None:
    """Refuse a plan that changes something when sudo would not let us (7), now or when it must be put back."""
    missing = facts.host.sudo_missing
    if any(change.kind == "file" and (change.makes or change.removes) for change in plan.changes):
        missing += facts.host.sudo_missing_for_new
    if plan.mutates() and missing:
        listed = "\n    ".join(f"sudo {each}" for each in missing[:8])
        raise SudoError(
            f"sudo does not allow {facts.host.login_user} all that a run needs:\n    {listed}",
            where=plan.target.name,
            hint=f"console doctor {plan.target.name} --sudoers prints the lines that are needed",
        )
    if not plan.mutates() or facts.host.sudo in ABLE or (be_here and facts.host.sudo == "each_call"):
        return
    reasons = {
        "each_call": "sudo waits for an approval at each call",
        "talks": f"sudo writes into what commands answer ({one_line(facts.host.sudo_said, 80)})",
        "one_time": "sudo took the answer once and not a second time",
        "password": "sudo wants a password",
        "tty": "sudo wants a terminal and takes none of ours",
        "refused": "sudo is not allowed",
        "absent": "there is no sudo and the login user is not root",
    }
    wrong = facts.host.sudo == "password" and "incorrect password" in facts.host.sudo_said
    why = "sudo did not take the password that was given" if wrong else reasons[facts.host.sudo]
    raise SudoError(
        f"{why} for {facts.host.login_user}",
        where=plan.target.name,
        hint=SUDO_HINTS.get(facts.host.sudo, "on the host, as that user, 'sudo -n true' must succeed").format(
            target=plan.target.name
        ),
    )


def of_this_unit(plan: Plan, facts: Facts, also_affects: int | None = None) -> None:
    """Refuse to edit a file that decides others too, unless the right number of them was said."""
    others = blast_radius.reached(facts, plan.edits)
    kinds = [
        f"{edit.path}{linked} decides {shared}"
        for edit in plan.edits
        if (shared := decides_others(edit.path) or decides_others(edit.real_path))
        for linked in [f" (a link to {edit.real_path})" if edit.real_path != edit.path else ""]
    ]
    if not (others or kinds) or also_affects == len(others):
        return
    listed = "\n    ".join([*kinds, *(each.text for each in others)])
    wrong = "" if also_affects is None else f", not {also_affects}"
    raise RefusedError(
        f"this edit also reaches {len(others)} other{'' if len(others) == 1 else 's'}{wrong}:\n    {listed}",
        where=plan.target.name,
        hint=f"--also-affects {len(others)} when all of them are meant; "
        "else put the setting into a drop-in of this unit alone",
    )


def reloads_alone(plan: Plan, facts: Facts, *, accept: bool) -> None:
    """Refuse a daemon-reload that would change others, unless that was said."""
    if accept or not any(change.kind == "reload" for change in plan.changes):
        return
    others = blast_radius.waiting_for_reload(facts.around)
    if others:
        raise PendingChangesError(
            f"the daemon-reload would also change {', '.join(others)}",
            where=plan.target.name,
            hint="reload by hand when their owners agree, or --accept-pending",
        )


def login_lasts(plan: Plan, ends: int | None, now: datetime, *, be_here: bool) -> None:
    """Refuse (7) a change that may last longer than the certificate we are logged in with."""
    if ends is None or be_here or not plan.mutates():
        return
    until = now + timedelta(seconds=estimates.may_last_s(plan))
    end = datetime.fromtimestamp(ends, UTC)
    if end < until:
        raise AuthenticationError(
            f"your certificate ends {end:%H:%MZ}, this run may last until {until:%H:%MZ}: a connection that is lost "
            "after that could not be opened again",
            where=plan.target.name,
            hint="get a fresh one first, or --i-will-be-here",
        )


def writable(plan: Plan, facts: Facts) -> None:
    """Refuse a file that could not be replaced where it lies."""
    for edit in plan.edits:
        for path in dict.fromkeys((edit.real_path, edit.path)):
            place = facts.around.place(path)
            if path == edit.real_path and place.read_only:
                raise RefusedError(
                    f"{path} is on a file system mounted read-only ({place.fstype} on {place.mount})",
                    where=plan.target.name,
                    hint="an immutable host is changed where its image is made; a disk that went read-only needs its "
                    "owner first (journalctl -k)",
                )
            if path == edit.real_path and (place.immutable or place.append_only):
                kind, flag = ("immutable", "i") if place.immutable else ("append-only", "a")
                at = place.frozen_at or path
                raise RefusedError(
                    f"{at} has the {kind} attribute: somebody froze it on purpose",
                    where=plan.target.name,
                    hint=f"ask them; lsattr -d {at} shows it, chattr -{flag} {at} takes it away",
                )


def owned(plan: Plan, facts: Facts, temporary: str) -> None:
    """Refuse to edit what something else writes, unless it was said to be temporary."""
    found = ownership.owners(plan.target, facts, plan.edits)
    if not found or temporary:
        return
    said = "; ".join(f"{each.path} belongs to {each.tool} ({each.evidence})" for each in found)
    source = next((each.source for each in found if each.source), "")
    raise RefusedError(
        f"{said}: an edit lasts until its next run",
        where=plan.target.name,
        hint=(f"change {source}, " if source else "change it at its source, ")
        + "or --temporary REASON [--until TIME] and change it there afterwards",
    )


def comes_back(plan: Plan, anyway: str) -> None:
    """Refuse to touch a host that would not start the service again, unless a reason was typed."""
    if plan.wont_come_back and not anyway:
        raise RefusedError(
            f"restart would not come back: {'; '.join(plan.wont_come_back)}",
            where=plan.target.name,
            hint="mend this on the host first; --restart-anyway REASON does it all the same",
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
