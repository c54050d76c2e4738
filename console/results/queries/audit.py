"""`history audit`: what became of one setting on every target in a period, and what nobody looked at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from console.errors import UsageError
from console.results.history import History, Row, Span, utc
from console.results.queries.blame import STANDING
from console.results.queries.drift import RESTART
from console.results.queries.tampering import Doubt, doubts
from console.results.told import ChangeTold

_QUARTER = re.compile(r"(\d{4})-?[Qq]([1-4])")
ASIDE = ("attempt", "restart")  # what does not set the value
LONG_GAP_S = 7 * 86400.0


@dataclass(frozen=True)
class Entry:
    """One change, attempt or sighting of the setting. `kind`: change · attempt · found · restart."""

    kind: str
    target: str
    before: str | None
    after: str | None
    at: str
    held_s: float | None
    operator: str
    reason: str
    ticket: str
    outcome: str
    run: str
    sha: str
    outage_s: str
    note: str = ""
    ended: float = 0.0


@dataclass(frozen=True)
class Net:
    """What a period came to on one target; None: absent."""

    target: str
    before: str | None
    after: str | None
    effective: str
    changes: int
    outage_s: float


@dataclass(frozen=True)
class Unseen:
    """A target and a stretch of the period in which no record looked at it."""

    target: str
    since: str
    until: str
    why: str


@dataclass(frozen=True)
class Audit:
    """Everything about one setting in a period. Times are UTC; `until` is not part of the period any more."""

    setting: str
    since: str
    until: str
    net: tuple[Net, ...]
    changes: tuple[Entry, ...]
    attempts: tuple[Entry, ...]
    found: tuple[Entry, ...]
    unseen: tuple[Unseen, ...]
    doubts: tuple[Doubt, ...]


@dataclass
class _Trail:
    """One target's rows, newest first as git gives them."""

    entries: list[Entry] = field(default_factory=list)
    earlier: list[Entry] = field(default_factory=list)
    seen: list[float] = field(default_factory=list)
    seen_before: float | None = None

    def is_set_after(self, moment: float) -> bool:
        """Whether a value set after that moment, and before the period, is known already."""
        return any(entry.kind not in ASIDE and entry.ended > moment for entry in self.earlier)


def quarter(text: str) -> Span:
    """`2026Q3` as a span in UTC. Raises UsageError."""
    match = _QUARTER.fullmatch(text)
    if not match:
        raise UsageError(f"{text!r} is not a quarter", hint="such as 2026Q3; or --since and --until")
    year, month = int(match[1]), int(match[2]) * 3 - 2
    begin = datetime(year, month, 1, tzinfo=UTC)
    end = datetime(year + (month == 10), (month + 3 - 1) % 12 + 1, 1, tzinfo=UTC)
    return Span(begin.timestamp(), end.timestamp())


def audit(
    history: History, setting: str, span: Span, *, targets: Iterable[str] = (), only: str = "", now: float
) -> Audit:
    """What the records tell of a setting between two times; `targets` are those that should have been looked at."""
    begin = span.since or 0.0
    end = min(now, span.until) if span.until is not None else now
    trails: dict[str, _Trail] = {name: _Trail() for name in targets}
    shas: list[str] = []
    for row in history.rows(only):
        if row.ended >= end:
            continue
        trail = trails.setdefault(row.target, _Trail())
        # What was before the period is asked for its last value only.
        named = not (row.ended < begin and trail.is_set_after(row.ended)) and (
            setting in row.block or setting in row.subject or f"Observed: {RESTART} " in row.block
        )
        entries = list(_entries(row, setting)) if named else []
        if row.ended >= begin:
            trail.seen.append(row.ended)
            trail.entries += entries
            shas += [row.sha] if entries else []
        else:
            trail.seen_before = trail.seen_before or row.ended
            trail.earlier += [entry for entry in entries if entry.kind not in ASIDE]
    for trail in trails.values():  # as they ended, which is not always as they were committed
        trail.entries.sort(key=lambda entry: -entry.ended)
        trail.earlier.sort(key=lambda entry: -entry.ended)
    if span.since is None:
        begin = min((min(trail.seen) for trail in trails.values() if trail.seen), default=end)
    entries = [entry for trail in trails.values() for entry in _held(trail.entries, end)]
    entries.sort(key=lambda entry: (entry.target, entry.ended))
    return Audit(
        setting=setting,
        since=utc(begin),
        until=utc(span.until if span.until is not None else end),
        net=tuple(net for name in sorted(trails) for net in _net(name, trails[name])),
        changes=tuple(entry for entry in entries if entry.kind == "change"),
        attempts=tuple(entry for entry in entries if entry.kind == "attempt"),
        found=tuple(entry for entry in entries if entry.kind in ("found", "restart")),
        unseen=tuple(one for name in sorted(trails) for one in _unseen(name, trails[name], begin, end)),
        doubts=tuple(doubts(history, shas, only)),
    )


def _entries(row: Row, setting: str) -> Iterator[Entry]:
    told = row.told

    def entry(kind: str, change: ChangeTold, note: str = "") -> Entry:
        return Entry(
            kind, told.target, change.before, change.after, row.at, None, told.operator, told.reason, told.ticket,
            told.outcome, told.run, row.sha, told.outage_s, note, row.ended,
        )  # fmt: skip

    for one in told.observed:
        if one.setting in (setting, RESTART):
            kind = "found" if one.setting == setting else "restart"
            yield entry(kind, one, f"{one.setting} {one.how}, between {one.since} and {one.until}")
    named = False
    for change in told.changed:
        if change.setting == setting:
            named = True
            note = f"rollback of {told.parent}" if told.parent and "rollback of " in row.subject else ""
            yield entry("change" if told.outcome in STANDING else "attempt", change, note)
    if not named and (tried := _tried(row, setting)) is not None:
        yield entry("attempt", tried)


def _tried(row: Row, setting: str) -> ChangeTold | None:
    """An attempt that never wrote: it has no `Change:`, and its subject says what it was for."""
    match = re.search(
        rf": (?:rollback of \S+: )?{re.escape(setting)} still (\S+), not (\S+?)(?: \(\+\d+\))?,", row.subject
    )
    if not match:
        return None
    before, after = (None if value == "absent" else value for value in match.groups())
    return ChangeTold(setting, before, after)


def _held(entries: list[Entry], end: float) -> Iterator[Entry]:
    """How long each value stood: until the next one, or the end of the period. Given newest first."""
    until = end
    for entry in entries:
        if entry.kind in ASIDE:
            yield entry
            continue
        yield Entry(**(vars(entry) | {"held_s": max(0.0, until - entry.ended)}))
        until = entry.ended


def _net(name: str, trail: _Trail) -> Iterator[Net]:
    standing = [entry for entry in trail.entries if entry.kind not in ASIDE]
    if not standing:
        return
    earlier = next(iter(trail.earlier), None)
    first, last = standing[-1], standing[0]
    before = earlier.after if earlier is not None else first.before
    outage = sum(float(entry.outage_s) for entry in trail.entries if entry.outage_s.replace(".", "").isdigit())
    yield Net(name, before, last.after, last.at, len(standing), outage)


def _unseen(name: str, trail: _Trail, begin: float, end: float) -> Iterator[Unseen]:
    """Stretches without a record: the whole period, its edges, and gaps of more than a week."""
    if not trail.seen:
        why = "no record in the period" if trail.seen_before else "no record at all"
        yield Unseen(name, utc(begin), utc(end), why)
        return
    moments = [begin, *sorted(trail.seen), end]
    for left, right in pairwise(moments):
        if right - left > LONG_GAP_S:
            yield Unseen(name, utc(left), utc(right), f"{(right - left) / 86400:.0f} days without a record")
