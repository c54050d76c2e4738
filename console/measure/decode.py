"""One decode cell: prime, pilot, pairs until the interval is narrow enough, and three estimators that must agree."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from console.analysis.statistics.acceptance import draft_positions
from console.analysis.statistics.agreement import agreement
from console.analysis.statistics.decode import naive_rate, two_point
from console.analysis.statistics.design import Design, delta_for, look
from console.analysis.statistics.estimate import Estimate as Figure
from console.analysis.statistics.replies import DEGENERATE_BELOW, Reply, distinct_4grams, is_prefix
from console.analysis.statistics.warmup import warm_up
from console.measure.acceptance import Accepted, accepted_of
from console.measure.bench import Answer, Bench
from console.measure.clocks import moved
from console.measure.linear import ask_between, bent
from console.measure.pairs import CellRefusedError, Pairs
from console.measure.prompt import Prompt
from console.measure.stream import stream_estimate
from console.schema.cells import Cell, CellState, Estimate

SHORT_TOKENS = 32
DELTA_TOKENS = 568
# Below this a stream's span tells little, and a text that ends sooner cannot be measured before its own end.
LEAST_LONG_TOKENS = 288
PILOTS = 3
# A cell that may take fewer pairs is a quick one, and is not judged by further lengths.
LINEAR_SAMPLES = 6
# What a look at 0.02 covers over all looks, at least.
COVERED = 0.95


@dataclass(frozen=True)
class Shape:
    """How a decode cell is laid out. `output_tokens` 0: as the pilot's spread and the text's own end allow."""

    output_tokens: int = 0
    samples: int = 12
    target: float = 0.01
    cold: bool = False


@dataclass
class DecodeCell:
    """A cell while it is measured; `cell` says at any moment what it has come to."""

    bench: Bench
    prompt: Prompt
    shape: Shape
    name: str
    chance: random.Random = field(default_factory=random.Random)
    pairs: Pairs = field(init=False)
    flags: list[str] = field(default_factory=list)
    natural_end: int | None = None
    streamed: Answer | None = None
    round_trip_s: float | None = None
    warm_up: int | None = None  # requests discarded until answers were steady, in the first cell on a process
    between: list[Answer] = field(default_factory=list)  # of lengths between the two

    def __post_init__(self) -> None:
        long_tokens = self.shape.output_tokens or SHORT_TOKENS + DELTA_TOKENS
        self.pairs = Pairs(self.bench, self.prompt, SHORT_TOKENS, long_tokens, self.chance, cold=self.shape.cold)

    @property
    def design(self) -> Design:
        pairs, samples = self.pairs, max(1, self.shape.samples)
        return Design(
            pairs.short_tokens,
            pairs.long_tokens - pairs.short_tokens,
            start=min(4, samples),
            most=samples,
            target=self.shape.target,
        )

    async def measure(self) -> Cell:
        """The whole cell. A refusal of the engine ends in a refused cell; errors of host and engine are raised."""
        try:
            await self._measure()
        except CellRefusedError as refusal:
            return self.cell("partial" if self.pairs.kept else "refused", str(refusal))
        return self.cell()

    async def _measure(self) -> None:
        pairs = self.pairs
        await pairs.quiet()
        self.round_trip_s = await self.bench.round_trip_s()
        await self._pilot()
        attempts = 0
        while attempts < 3 * self.design.most and not self._enough():
            await pairs.measure(long_first=attempts % 2 == 1)
            attempts += 1
        if not pairs.kept:
            raise CellRefusedError(f"no pair counts: {reasons_text(pairs.reasons)}")
        if self.shape.samples >= LINEAR_SAMPLES:
            self.between = await ask_between(self.pairs)

    async def _pilot(self) -> None:
        """Prime the prefix cache with the text's natural answer, streamed; then short ones, for their spread.

        The first answer of a start or of a new shape may take seconds longer: it never counts.
        """
        pairs = self.pairs
        natural = await pairs.ask(pairs.long_tokens, ignore_eos=False, stream=True, refused="primes the cache")
        got = natural.read.completion_tokens or 0
        if got < pairs.long_tokens:
            self.natural_end = got
            if not self.shape.output_tokens and got - 1 >= LEAST_LONG_TOKENS:
                pairs.long_tokens = got - 1
            else:
                self.flags.append("past the text's own end")
        self.streamed = natural
        if got < LEAST_LONG_TOKENS:
            self.streamed = await pairs.ask(pairs.long_tokens, stream=True, refused="streamed")
        self._lengthen(await self._pilots())

    async def _pilots(self) -> list[Answer]:
        """Short answers for their spread. The first cell on a process asks until they are steady, ten times at most.

        Timers, caches and clocks of a fresh start settle within a few requests; what came before is not measured with.
        """
        pairs, bench = self.pairs, self.bench
        pilots: list[Answer] = []
        while True:
            pilots.append(await pairs.ask(pairs.short_tokens, refused="pilot"))
            if bench.warm_after is not None:
                if len(pilots) >= PILOTS:
                    return pilots[1:]
                continue
            warmed = warm_up([one.seconds for one in pilots])
            if not warmed.more:
                bench.warm_after = warmed.discard + 1  # the one that filled the cache
                self.warm_up = bench.warm_after
                if not warmed.steady:
                    self.flags.append("not steady after 10 requests")
                return pilots[warmed.discard :]

    def _lengthen(self, pilots: Sequence[Answer]) -> None:
        """Where short answers spread widely, the long ones must be longer; never past the text's own end."""
        pairs = self.pairs
        if self.shape.output_tokens or self.natural_end is not None or self.streamed is None:
            return
        spread = [one.seconds for one in pilots]
        rate = naive_rate(pairs.long_tokens, self.streamed.seconds)
        if len(spread) > 1 and math.isfinite(rate):
            pairs.long_tokens = SHORT_TOKENS + delta_for(spread, rate, least=DELTA_TOKENS, most=4 * DELTA_TOKENS)

    def _enough(self) -> bool:
        pairs = self.pairs
        if not pairs.kept:
            return False
        clock = "server" if pairs.timed_by_server else "client"
        return look(seconds_of(pairs.short(clock)), seconds_of(pairs.long(clock)), self.design).over

    def cell(self, state: CellState = "measured", reason: str = "") -> Cell:
        """What has been measured so far."""
        pairs = self.pairs
        base = base_cell(self.name, "decode", pairs, state, reason).model_copy(
            update={
                "natural_end": self.natural_end,
                "warm_up": self.warm_up,
                "round_trip_ms": None if self.round_trip_s is None else round(self.round_trip_s * 1000, 3),
            }
        )
        if not pairs.kept:
            return base
        flags = [*self.flags, *bent(pairs, self.between, self.design)]
        return finished(base, pairs, self.design, self.streamed, flags, path_s=self.round_trip_s or 0.0)


def base_cell(name: str, step: str, pairs: Pairs, state: CellState, reason: str) -> Cell:
    """What is known of a cell without any pair that counts."""
    prompt_tokens = next((arm.prompt_tokens for arm in reversed(pairs.arms) if arm.prompt_tokens is not None), None)
    at = None if prompt_tokens is None else prompt_tokens + (pairs.short_tokens + pairs.long_tokens) / 2
    return Cell.model_validate(
        {
            "name": name,
            "step": step,
            "text_class": pairs.prompt.text_class,
            "cache": "cold" if pairs.cold else "warm",
            "state": state,
            "reason": reason,
            "asked_tokens": pairs.prompt.asked_tokens,
            "context_tokens": prompt_tokens,
            "at_tokens": at,
            "short_tokens": pairs.short_tokens,
            "long_tokens": pairs.long_tokens,
            "pairs": len(pairs.kept),
            "refused_pairs": pairs.refused,
            "reasons": dict(pairs.reasons),
            "text_sha256": pairs.prompt.sha256,
            "arms": pairs.arms,
        }
    )


def finished(
    base: Cell,
    pairs: Pairs,
    design: Design,
    streamed: Answer | None,
    flags: Sequence[str] = (),
    *,
    path_s: float = 0.0,
) -> Cell:
    """The cell with its figures, from the pairs that count."""
    clock = "server" if pairs.timed_by_server else "client"
    short, long = pairs.short(clock), pairs.long(clock)
    rate = look(seconds_of(short), seconds_of(long), design).rate
    accepted = accepted_of(pairs, rate.value)
    estimates = [estimate_of("server", pairs, design)] if clock == "server" else []
    estimates.append(estimate_of("client", pairs, design))
    if streamed is not None:
        estimates.append(stream_estimate(streamed, pairs.short_tokens, path_s))
    agree = agreement_of(estimates)
    answer = pairs.kept[-1][1].read.text
    distinct = distinct_4grams(answer.split())
    found = [*flags, *rate.flags, *accepted.flags, *moved(pairs.arms)]
    if not pairs.cold and not all(is_prefix(one.read.text, other.read.text) for one, other in pairs.kept):
        found.append("not deterministic")
    if distinct < DEGENERATE_BELOW and pairs.prompt.text_class != "repetitive":
        found.append("degenerate text")
    if agree is False:
        found.append("estimators disagree")
    if pairs.unseen:
        found.append("other clients not visible")
    if pairs.prompt.tokens is None:
        found.append("prompt size not exact")
    if clock == "client":
        found.append("timed from here only")
    return base.model_copy(
        update={
            **figures(rate.value, rate.low, rate.high, accepted),
            "accept_source": accepted.source,
            "draft_positions": draft_positions([arm.accepted for arm in pairs.arms if not arm.refused]),
            "method": "two_point",
            "confidence": COVERED,
            "naive_tok_s": finite(naive_rate(pairs.long_tokens, pairs.kept[0][1].client_s)),
            "estimates": tuple(estimates),
            "agree": agree,
            "distinct_4grams": round(distinct, 3),
            "flags": tuple(dict.fromkeys(flag for flag in found if flag)),
        }
    )


def figures(rate: float, low: float, high: float, accepted: Accepted) -> dict[str, float | None]:
    return {
        "rate_tok_s": finite(rate),
        "rate_low": finite(low),
        "rate_high": finite(high),
        "step_ms": finite(accepted.step_ms),
        "step_low": finite(accepted.step_low),
        "step_high": finite(accepted.step_high),
        "accept_length": finite(accepted.accept_length),
    }


def estimate_of(clock: str, pairs: Pairs, design: Design) -> Estimate:
    rate = two_point(
        seconds_of(pairs.short(clock)),
        seconds_of(pairs.long(clock)),
        design.delta_tokens,
        confidence=1 - design.look_alpha,
    )
    if not math.isfinite(rate.value):
        return Estimate.model_validate({"method": clock, "unusable": "a long answer took no longer than a short one"})
    return Estimate.model_validate(
        {"method": clock, "rate_tok_s": rate.value, "low": finite(rate.low), "high": finite(rate.high)}
    )


def agreement_of(estimates: Sequence[Estimate]) -> bool | None:
    """Whether the usable ones agree; None where that cannot be told."""
    return agreement(
        [
            Figure(
                one.rate_tok_s,
                -math.inf if one.low is None else one.low,
                math.inf if one.high is None else one.high,
            )
            for one in estimates
            if one.rate_tok_s
        ]
    )


def seconds_of(replies: Sequence[Reply]) -> list[float]:
    return [reply.seconds for reply in replies]


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def reasons_text(reasons: dict[str, int]) -> str:
    return ", ".join(f"{reason} ({count})" for reason, count in reasons.items()) or "none was made"
