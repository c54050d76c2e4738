"""Holding a target: lock, look again, ledger; and what must still be so when the lock was lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from console.errors import (
    ConnectionLostError,
    ConsoleError,
    LockHeldError,
    RestartedByOthersError,
    StalePlanError,
    UnreachableError,
)
from console.facts.collect import collect_again
from console.planning import differences, nodes, policy
from console.remote.session import Remote
from console.runner import candidate
from console.runner.carry import reach
from console.runner.guard import Guard
from console.runner.ledger import Ledger
from console.runner.lock import UnitLock
from console.schema.change import ABSENT, CommandChange, FileChange, RestartChange
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.schema.plan import Activation
from console.secrets import Redactor
from console.settings import resolve

if TYPE_CHECKING:
    from console.runner.target_run import TargetRun

# How long a host that let go of our lock is waited for when it is looked at again.
AGAIN_PATIENCE_S = 30.0


async def take(run: TargetRun) -> None:
    """Lock, look again, write the ledger. From here on the host knows of us. Raises what any of them refuses."""
    plan = run.planned()
    assert run.reader is not None
    remote = run.reader.writer()
    before = run.seen_facts()
    for place, seen in zip(remote.everywhere, (before, *before.nodes), strict=True):
        place.contents = {file.sha256: file.content for file in seen.files if file.sha256}
    run.lock = UnitLock(run.context, remote, plan.runbook)
    run.ledger = Ledger(run.context, remote, plan)
    await run.lock.take()
    try:
        await _announce(run, remote, run.ledger)
    except (ConnectionLostError, UnreachableError, LockHeldError):
        if run.lock.held:
            raise
        # The connection died. All of this may be done twice: nothing is changed yet.
        await reach(run)
        await _announce(run, remote, run.ledger)


async def _announce(run: TargetRun, remote: Remote, ledger: Ledger) -> None:
    plan = run.planned()
    await unchanged(run, remote)
    if plan.mutates():
        await ledger.write()
        for entry, (share, seen) in zip((ledger, *ledger.nodes), nodes.shares(plan, run.seen_facts()), strict=True):
            await candidate.check(share, seen, entry.remote, entry.folder, run.context.run)
    await _guard(run, remote)


async def _guard(run: TargetRun, remote: Remote) -> None:
    """Arm a guard of our own, or take charge of the one of the run that is gone on with or undone."""
    if run.guard is not None and run.guard.armed:
        return
    options, plan, found = run.context.options, run.planned(), run.seen_facts().guard
    if found.run and found.idle and found.run not in (options.root, options.parent):
        # Its run died before it wrote anything: it would only stand in the way.
        idle = Guard(run.context, remote, plan, found.run)
        idle.armed = True
        await idle.disarm()
    earlier = options.root if options.purpose != "run" else ""
    run.guard = Guard(run.context, remote, plan, earlier or run.context.run)
    if earlier and run.seen_facts().guard.run == earlier:
        run.guard.adopt("taken charge of")
    elif plan.mutates() and options.purpose == "run":
        await run.guard.arm()


async def unchanged(run: TargetRun, remote: Remote) -> None:
    """Refuse (8) when files, boot or start of the unit are not as planned, or the restart would bring more (1)."""
    before = run.seen_facts()
    now = await collect_again(remote, run.engine, before)
    reasons = [*since(before, now)]
    for then, there in zip(before.nodes, now.nodes, strict=True):
        reasons += [f"on {there.node}: {reason}" for reason in since(then, there)]
    if reasons:
        raise StalePlanError(
            f"{', '.join(reasons)} since the plan was made: nothing was written",
            where=run.target.name,
            hint="plan again and look at the difference",
        )
    plan = run.planned()
    for then, there in zip((before, *before.nodes), (now, *now.nodes), strict=True):
        pending = fresh_words(_activation(then, remote.redactor), _activation(there, remote.redactor))
        consent = run.context.options.consent
        policy.pending(plan.model_copy(update={"activation": pending}), accept=consent.accept_pending)


def since(before: Facts, now: Facts) -> Iterator[str]:
    """What happened to one host since it was looked at."""
    yield from (f"{path} changed" for path in differing(before, now))
    if now.host.boot_id != before.host.boot_id:
        yield "the host was rebooted"
    elif started_by_others(before, now):
        yield f"{now.unit.id} was started again"


def differing(before: Facts, now: Facts, ours: Mapping[str, frozenset[str]] | None = None) -> list[str]:
    """Files that decide the unit and are not as they were; those of `ours` may have any of its digests."""
    then = {file.real_path: file.digest for file in before.files}
    there = {file.real_path: file.digest for file in now.files}
    known = ours or {}
    return sorted(
        path
        for path in then.keys() | there.keys()
        if then.get(path, ABSENT) != there.get(path, ABSENT)
        and there.get(path, ABSENT) not in known.get(path, frozenset())
    )


def started_by_others(before: Facts, now: Facts) -> bool:
    """A start by systemd itself, after a crash, counts NRestarts up; a start by a person sets it to 0."""
    return now.unit.invocation_id != before.unit.invocation_id and now.unit.n_restarts <= before.unit.n_restarts


def _activation(facts: Facts, redactor: Redactor) -> Activation:
    unit = resolve.unit_of(facts)
    environment = resolve.environment_on_disk(unit)
    return differences.activation(facts, resolve.argv_on_disk(unit, environment), environment, redactor)


def fresh_words(then: Activation, now: Activation) -> Activation:
    """What a restart would bring now and would not have brought at planning."""
    return Activation(
        words_added=tuple((Counter(now.words_added) - Counter(then.words_added)).elements()),
        words_removed=tuple((Counter(now.words_removed) - Counter(then.words_removed)).elements()),
    )


async def regained(run: TargetRun) -> None:
    """The lock died with a lost connection: take it again before anything else, and see that nobody was there.

    Raises LockHeldError for who holds it now, StalePlanError or RestartedByOthersError for who came and went.
    """
    if run.lock is None:
        return
    if not run.lock.held:
        run.let_go = True
        await run.lock.retake()
    if run.guard_fired:
        run.let_go = False  # the files are the old ones again, and the start is the guard's
    if run.let_go:
        wrong = not_as_left(
            run, await collect_again(run.lock.remote, run.engine, run.facts, patience_s=AGAIN_PATIENCE_S)
        )
        if wrong is not None:
            raise wrong
        run.let_go = not run.lock.held


def not_as_left(run: TargetRun, now: Facts) -> ConsoleError | None:
    """What somebody else did while the lock was not held; None when all is as planned, or as this run made it."""
    before = run.seen_facts()
    wrong = _not_as_left(run, run.target, before, now)
    for place, then, there in zip(run.target.nodes, before.nodes, now.nodes, strict=True):
        wrong = wrong or _not_as_left(run, place, then, there)
    return wrong


def _not_as_left(run: TargetRun, place: Target, before: Facts, now: Facts) -> ConsoleError | None:
    where, node = place.name, place.node
    if now.host.boot_id != before.host.boot_id:
        return StalePlanError("the host was rebooted while the connection was lost", where=where)
    if any(isinstance(change, RestartChange) for change in run.sent):
        # Until the wait has found the start of ours, any new one may be it; a crashed one is the wait's to judge.
        known = run.invocation and now.unit.invocation_id and not now.unit.n_restarts and not place.rank
        replaced = bool(known) and now.unit.invocation_id != run.invocation
    else:
        replaced = started_by_others(before, now)
    if replaced:
        return RestartedByOthersError(
            f"{now.unit.id} was started by somebody else while the connection was lost "
            f"(invocation {now.unit.invocation_id or 'none'})",
            where=where,
            hint=f"systemctl status {now.unit.id}; nothing was rolled back over that start",
        )
    if any(isinstance(change, CommandChange) for change in run.sent):
        return None  # a command of the runbook may have written any of these files
    newest = {change.real_path: change for change in run.sent if isinstance(change, FileChange) and change.node == node}
    ours = {path: frozenset({change.sha256_before, change.sha256_after}) for path, change in newest.items()}
    # Of what was under way both are ours; what was made stays made. The old bytes again are somebody's put-back.
    stands = {file.real_path: file.digest for file in now.files}
    back = {
        path
        for path, change in newest.items()
        if change in run.made and stands.get(path, ABSENT) == change.sha256_before
    }
    differ = sorted({*differing(before, now, ours), *back})
    if not differ:
        return None
    return StalePlanError(
        f"{', '.join(differ)} changed while the connection was lost: nothing more is done",
        where=where,
        hint="look who did that, then console resume or console rollback",
    )
