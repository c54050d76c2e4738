"""What limits a service under load: named when the evidence says one thing, else what to measure next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from console.analysis.diagnosis.placement import Member, placement
from console.analysis.diagnosis.session_length import Falling
from console.analysis.diagnosis.signs import SESSIONS, Kind, Sign, merged

FULL, ROOM = 0.90, 0.80  # of the KV pool
NEARLY_FREE = 1.5  # a step with many streams may take so much longer and still be limited by reading weights
MANY = 4  # times as many streams before that says anything
HIT_LOST = 0.20  # of the share of cached tokens, from few streams to many
PREFILL_SHARE = 0.5  # of a request's time before its first token
LATE_MS, LATE_SHARE = 10.0, 0.05  # and of the time to the first token


@dataclass(frozen=True)
class Seen:
    """One level of a load or replay. None: not known. `hit` and `pool` are shares, times are medians in seconds."""

    streams: float
    gap_s: float | None = None
    ttft_s: float | None = None
    e2e_s: float | None = None
    pool: float | None = None
    queued: int | None = None
    hit: float | None = None
    lag_ms: float | None = None
    sessions: Falling | None = None  # its sessions are found less and less as they grow
    replicas: int = 1


@dataclass(frozen=True)
class Bottleneck:
    """`kind` None: inconclusive; `measure` says what would decide."""

    kind: Kind | None
    signs: tuple[Sign, ...]
    measure: str = ""

    def sentence(self) -> str:
        if self.kind is None:
            return f"inconclusive: {self.measure}"
        first = next(one for one in self.signs if one.kind == self.kind)
        return f"{self.kind}: {first.evidence}"


def bottleneck(levels: Sequence[Seen], members: Sequence[Member] = (), retracted: int = 0) -> Bottleneck:
    """Judge the levels of one target, from few streams to many, and the members of its group.

    `retracted`: requests that its log says were taken back for lack of room, whoever sent them.
    """
    ordered = sorted(levels, key=lambda one: one.streams)
    taken = f"{retracted} requests were taken back for lack of room"
    told = [Sign("KV capacity", True, taken)] if retracted else []
    signs = merged([*told, *_signs(ordered), *placement(members)])
    strong = [one for one in signs if one.strong]
    if any(one.kind == "client" for one in strong):
        return Bottleneck("client", signs)
    if len(strong) == 1:
        return Bottleneck(strong[0].kind, signs)
    if strong:
        named = " and ".join(one.kind for one in strong)
        return Bottleneck(None, signs, f"{named} at once; tell them apart: {'; '.join(one.confirm for one in strong)}")
    return Bottleneck(None, signs, _missing(ordered))


def _missing(ordered: Sequence[Seen]) -> str:
    if not ordered:
        return "no load on record: console measure load TARGET --concurrency 1,4,16"
    if ordered[-1].streams < MANY * ordered[0].streams:
        return f"only {ordered[-1].streams:g} streams were tried: console measure load with four times as many"
    if all(one.pool is None for one in ordered):
        return "the engine does not say how full its pool is: start it with its metrics, and load it again"
    return "nothing is near its limit: load it with more streams or longer prompts"


def _signs(ordered: Sequence[Seen]) -> Iterator[Sign]:
    if not ordered:
        return
    few, many = ordered[0], ordered[-1]
    if many.lag_ms is not None and many.lag_ms > max(LATE_MS, 1000 * LATE_SHARE * (many.ttft_s or 0.0)):
        yield Sign("client", True, f"our own loop was {many.lag_ms:.0f} ms late (p99)")
    queued = (many.queued or 0) > 0
    pool = many.pool
    lost = few.hit - many.hit if few.hit is not None and many.hit is not None and few is not many else 0.0
    if pool is not None and pool >= FULL:
        told = [f"the pool is {pool:.0%} full at {many.streams:g} streams"]
        told += [f"{many.queued} requests wait"] if queued else []
        told += [f"cached tokens fall from {few.hit:.0%} to {many.hit:.0%}"] if lost > HIT_LOST else []
        yield Sign("KV capacity", queued or lost > HIT_LOST, ", ".join(told))
    elif lost > HIT_LOST:
        yield Sign("KV capacity", False, f"cached tokens fall from {few.hit:.0%} to {many.hit:.0%}")
    if many.sessions is not None:
        # With several replicas a session may only have been sent to another one.
        alone = many.replicas < 2
        more = "" if alone else f"; with {many.replicas} replicas a session may have changed over"
        yield Sign("KV capacity", alone, many.sessions.evidence + more, SESSIONS)
    if queued and (pool is None or pool < ROOM):
        room = f"the pool is {pool:.0%} full" if pool is not None else "the pool's use is not known"
        yield Sign("queueing", pool is not None, f"{many.queued} requests wait while {room}")
    # Whoever waits for a place has a late first token, too: with a queue only the level without one tells of prefill.
    told_by = many if not queued else few
    if told_by.ttft_s and told_by.e2e_s and told_by.ttft_s >= PREFILL_SHARE * told_by.e2e_s and not told_by.queued:
        share = f"{told_by.ttft_s / told_by.e2e_s:.0%} of a request's time is before its first token"
        yield Sign("prefill", True, share + (f" at {few.streams:g} streams" if told_by is few and queued else ""))
    yield from _decode(few, many, queued=queued)


def _decode(few: Seen, many: Seen, *, queued: bool) -> Iterator[Sign]:
    if few.gap_s is None or many.gap_s is None or many.streams < MANY * few.streams:
        return
    slower = many.gap_s / few.gap_s
    if slower <= NEARLY_FREE and not queued and (many.pool is None or many.pool < FULL):
        told = f"{many.streams / few.streams:.0f} times as many streams make a token only {slower:.2f} times as slow"
        before = (many.ttft_s or 0.0) / many.e2e_s if many.e2e_s else 0.0
        yield Sign("decode bandwidth", before < PREFILL_SHARE, f"{told}: compute is to spare, a step waits for memory")
