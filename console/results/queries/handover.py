"""`console handover`: what the next person must know, each with the command that closes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from console.results.history import History, Span, seconds_of, utc
from console.results.queries.drift import Drifted
from console.runs.listing import RunSummary
from console.schema.facts import Facts
from console.schema.outcome import Outcome
from console.untrusted import one_line

# Ends worth telling although nobody must act any more.
WENT_WRONG = frozenset(
    {Outcome.FAILED_UNCHANGED, Outcome.ROLLED_BACK, Outcome.ROLLBACK_FAILED, Outcome.UNKNOWN, Outcome.ABORTED_UNCHANGED}
)
SECTIONS = {
    "open": "open changes",
    "guard": "guards that are armed",
    "lock": "locks held now",
    "out": "replicas out of their balancer",
    "drift": "not as recorded",
    "unkept": "records not committed or not pushed",
    "ended": "runs that failed or were rolled back",
    "unseen": "hosts that could not be looked at",
}


@dataclass(frozen=True)
class Item:
    """One thing to hand over. `kind`: a key of SECTIONS; `close`: commands, the usual one first."""

    kind: str
    target: str
    what: str
    since: str = ""
    who: str = ""
    reason: str = ""
    run: str = ""
    close: tuple[str, ...] = ()


@dataclass(frozen=True)
class Handover:
    """The page: from when, made when, and what is on it, in the order of SECTIONS."""

    since: str
    until: str
    items: tuple[Item, ...]

    def of(self, kind: str) -> tuple[Item, ...]:
        return tuple(item for item in self.items if item.kind == kind)


def open_items(runs: Iterable[RunSummary], facts: Sequence[Facts]) -> Iterator[Item]:
    """Open changes as the hosts remember them, and runs of this machine that no host told of."""
    told: set[tuple[str, str]] = set()
    for seen in facts:
        for entry in seen.ledger:
            if entry.open:
                told.add((seen.target, entry.run))
                state = {"undoing": "being put back", "guard": "put back by the guard, not proven"}.get(entry.state, "")
                yield Item(
                    kind="open",
                    target=seen.target,
                    what="; ".join(part for part in (one_line(entry.summary, 200) or "a change", state) if part),
                    since=entry.at,
                    who=_who(entry.operator, entry.from_host),
                    reason=one_line(entry.reason, 200),
                    run=entry.run,
                    close=(f"console takeover {entry.run}", f"console takeover {entry.run} --rollback"),
                )
    for run in runs:
        for target, why in run.open_targets.items():
            if (target, run.id) not in told:
                yield Item("open", target, why, run.started, run.operator, run.reason, run.id, run.next)


def guard_items(facts: Sequence[Facts]) -> Iterator[Item]:
    """Dead-man's switches on the hosts, each with the time it looks next."""
    for seen in facts:
        guard = seen.guard
        if guard.run:
            at = ""
            if guard.fires_in_s is not None and (read := seconds_of(seen.read_at)) is not None:
                at = f", looks at {utc(read + guard.fires_in_s)}"
            commands = (f"console takeover {guard.run}", f"console takeover {guard.run} --rollback")
            yield Item(
                "guard", seen.target, f"the host puts the change back by itself{at}", run=guard.run, close=commands
            )


def lock_items(facts: Sequence[Facts]) -> Iterator[Item]:
    for seen in facts:
        lock = seen.lock
        if lock.held:
            close = f"console attach {lock.run}" if lock.run else "console runs --locks"
            who = _who(lock.operator, lock.from_host)
            yield Item("lock", seen.target, "the unit's lock is held", lock.since, who, run=lock.run, close=(close,))


def out_items(runs: Iterable[RunSummary]) -> Iterator[Item]:
    """Targets that their newest run here took out of the balancer, and nothing has put in again."""
    told: set[str] = set()
    for run in sorted(runs, key=lambda run: run.id, reverse=True):
        for target in run.targets:
            if target not in told and target in run.left_out and not run.alive:
                close = (run.left_out[target],)
                yield Item("out", target, "gets no requests", run.started, run.operator, run.reason, run.id, close)
            told.add(target)


def drift_items(found: Iterable[Drifted], facts: Sequence[Facts] = ()) -> Iterator[Item]:
    """What is not as recorded, but for what an open change made: that is told as such."""
    still_open = {(seen.target, entry.run) for seen in facts for entry in seen.ledger if entry.open}
    for one in found:
        ours = [drift for drift in one.drifts if drift.by_run and (one.target, drift.by_run) in still_open]
        files = {drift.path for drift in ours}
        for drift in one.drifts:
            if drift in ours or drift.path in files:
                continue
            before, after = ("absent" if value is None else value for value in (drift.recorded, drift.now))
            yield Item(
                kind="drift",
                target=one.target,
                what=f"{drift.setting} {before} -> {after} ({drift.where}): {drift.how}",
                since=one.recorded_at,
                run=one.recorded_run,
                close=(f"console history drift --record {one.target}",),
            )


def unkept_items(runs: Iterable[RunSummary], unpushed: int, where: str) -> Iterator[Item]:
    for run in runs:
        for target in run.uncommitted:
            yield Item(
                "unkept", target, "saved here, not committed", run.started, run.operator, run=run.id,
                close=(f"console recover {run.id}",),
            )  # fmt: skip
    if unpushed:
        noun = "record" if unpushed == 1 else "records"
        yield Item("unkept", "", f"{unpushed} {noun} of {where} not pushed", close=("console recover",))


def ended_items(history: History, since: float) -> Iterator[Item]:
    """Runs since then that did not do what they were for."""
    for row in history.rows(span=Span(since, None)):
        told = row.told
        if told.outcome in WENT_WRONG:
            yield Item(
                kind="ended",
                target=told.target,
                what=row.subject.partition(": ")[2] or told.outcome,
                since=row.at,
                who=told.operator,
                reason=told.reason,
                run=told.run,
                close=(f"console history show {told.run}",),
            )


def unseen_items(errors: Mapping[str, str]) -> Iterator[Item]:
    for target, why in errors.items():
        yield Item("unseen", target, one_line(why, 200), close=(f"console facts {target}",))


def _who(operator: str, from_host: str) -> str:
    return " from ".join(part for part in (one_line(operator, 60), one_line(from_host, 60)) if part)
