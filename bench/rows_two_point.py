"""Rows of the acceptance table for the two-point estimator, without sockets: scenario, bounds, replicas."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from bench.scorecard import Check, Outcome, Score, errors_of, least, most, p95, score, share
from bench.simulated_server import (
    RATE,
    STEP_S,
    Delay,
    Server,
    cold_prefill,
    constant,
    lognormal,
    loss,
    outliers,
    quiet,
)
from console.analysis.statistics.acceptance import split
from console.analysis.statistics.decode import naive_pair
from console.analysis.statistics.design import TARGET_NOT_REACHED, Design, abba, look
from console.analysis.statistics.replies import Reply, is_prefix
from console.analysis.statistics.stream import stream_rate

DESIGN = Design()
GIVE_UP = 200  # requests, whatever comes


@dataclass
class Measured:
    """A whole two-point measurement of a simulated server."""

    outcome: Outcome
    flags: tuple[str, ...]
    kept: dict[str, list[Reply]]
    refused: int = 0
    wrongly_kept: int = 0
    cache_refused: int = 0


def measure(server: Server, *, prime: bool = True, design: Design = DESIGN) -> Measured:
    """As a measurement goes: prime, ABBA, leave out what is short or found another cache, look, go on or stop."""
    if prime:
        server.ask(design.short_tokens)
    lengths = {"short": design.short_tokens, "long": design.long_tokens}
    kept: dict[str, list[Reply]] = {"short": [], "long": []}
    asked: dict[str, list[Reply]] = {"short": [], "long": []}
    begun = server.requests
    refused = cache_refused = 0
    wanted = abba(design.start)
    now = None
    while wanted and server.requests < GIVE_UP:
        for arm in wanted:
            reply = server.ask(lengths[arm])
            asked[arm].append(reply)
            if reply.tokens == lengths[arm]:
                kept[arm].append(reply)
            else:
                refused += 1
        # The first reply of a cold cache differs from all the others.
        cached = [reply.cached_tokens or 0 for side in kept.values() for reply in side]
        for side in kept.values():
            cold = [reply for reply in side if (reply.cached_tokens or 0) < 0.99 * max(cached)]
            cache_refused += len(cold)
            side[:] = [reply for reply in side if reply not in cold]
        if not (kept["short"] and kept["long"]):
            continue
        short, long = ([reply.seconds for reply in kept[arm]] for arm in ("short", "long"))
        now = look(short, long, design)
        wanted = now.wanted
    assert now is not None
    naive = naive_pair(
        [reply.seconds for reply in asked["short"]], [reply.seconds for reply in asked["long"]], design.delta_tokens
    )
    wrong = sum(reply.tokens != lengths[arm] for arm, side in kept.items() for reply in side)
    outcome = Outcome(now.rate.value, now.rate.covers(RATE), server.requests - begun, naive, now.rate.half_width)
    return Measured(outcome, now.rate.flags, kept, refused, wrong, cache_refused)


@dataclass(frozen=True)
class Scenario:
    """A row: how the server is, and what must hold (percent)."""

    name: str
    delay: Delay = quiet
    bias: float | None = 0.2
    error: float | None = 0.7
    coverage: float = 93.0
    prime: bool = True
    first_extra_s: float = 0.0
    early_stop: float = 0.0
    more: Callable[[list[Measured]], list[Check]] = lambda found: []
    notes: tuple[str, ...] = ()


def runs_of(scenario: Scenario, replicas: int, seed: int) -> list[Measured]:
    rng = random.Random(f"{scenario.name}/{seed}")
    return [
        measure(
            Server(
                random.Random(rng.random()),
                scenario.delay,
                early_stop=scenario.early_stop,
                first_extra_s=scenario.first_extra_s,
            ),
            prime=scenario.prime,
        )
        for _ in range(replicas)
    ]


def within_target(found: list[Measured]) -> list[Check]:
    return [least("half-width ≤1% in", share([run.outcome.half_width <= DESIGN.target for run in found]), 95)]


def says_when_missed(found: list[Measured]) -> list[Check]:
    missed = [run for run in found if run.outcome.half_width > DESIGN.target]
    return [
        least("target missed in", share([run.outcome.half_width > DESIGN.target for run in found])),
        least("and said", share([TARGET_NOT_REACHED in run.flags for run in missed]) if missed else 100, 100),
    ]


def few_requests(found: list[Measured]) -> list[Check]:
    return [most("requests in 95% of runs", p95([run.outcome.requests for run in found]), 10, "")]


def widened(found: list[Measured]) -> list[Check]:
    return [least("half-width ≥5% in", share([run.outcome.half_width >= 0.05 for run in found]), 95)]


def nothing_short_kept(found: list[Measured]) -> list[Check]:
    return [
        most("short replies kept", sum(run.wrongly_kept for run in found), 0, ""),
        least("refused and counted", sum(run.refused for run in found), 1, ""),
    ]


def cache_told(found: list[Measured]) -> list[Check]:
    return [least("cold reply refused in", share([run.cache_refused == 1 for run in found]), 100)]


SCENARIOS = {
    "clean": Scenario("clean (2 ms)", more=few_requests),
    "jitter-20": Scenario("jitter, lognormal 20 ms", lognormal(0.020), error=1.0, more=within_target),
    "jitter-80": Scenario("jitter, lognormal 80 ms", lognormal(0.080), bias=0.3, error=2.0, more=says_when_missed),
    "loss-5": Scenario("loss 5 % (RTO 0.2–0.4 s)", loss(0.05), error=0.8),
    "loss-20": Scenario("loss 20 % (RTO 0.2–0.4 s)", loss(0.20), error=1.5),
    "outliers-10": Scenario("outliers 10 % (0.3–2 s)", outliers(0.10), error=0.8, coverage=92),
    "outliers-25": Scenario("outliers 25 % (0.3–2 s)", outliers(0.25), error=2.0, coverage=92),
    "cold-first": Scenario(
        "cold first request +3 s, not primed",
        bias=0.3,
        error=None,
        prime=False,
        first_extra_s=3.0,
        more=cache_told,
    ),
    "cold-prefill": Scenario(
        "cold prefill, SD 0.5 s, no cache", cold_prefill(0.5), bias=None, error=None, more=widened
    ),
    "early-stop": Scenario("early stop 20 %", error=0.8, early_stop=0.2, more=nothing_short_kept),
}


def scenario_row(name: str) -> Callable[[int, int], Score]:
    def row(replicas: int, seed: int) -> Score:
        scenario = SCENARIOS[name]
        found = runs_of(scenario, replicas, seed)
        return score(
            scenario.name,
            [run.outcome for run in found],
            RATE,
            bias=scenario.bias,
            error=scenario.error,
            coverage=scenario.coverage,
            more=scenario.more(found),
            notes=scenario.notes,
        )

    return row


def rtt(replicas: int, seed: int) -> Score:
    """The same servers at 0 and at 300 ms: the rate may not notice."""
    near, far = (
        [measure(Server(random.Random(f"rtt/{seed}/{number}"), constant(rtt_s))).outcome for number in range(replicas)]
        for rtt_s in (0.0, 0.3)
    )
    moved = max(abs(b.value / a.value - 1) for a, b in zip(near, far, strict=True)) * 100
    return score("RTT 0 and 300 ms, constant", far, RATE, bias=0.2, error=0.7, more=[most("Δr", moved, 0.3)])


def buffered(replicas: int, seed: int) -> Score:
    """A proxy that hands out the stream at its end: the two-point holds, the stream's span gives no number."""
    rng = random.Random(f"buffered/{seed}")
    outcomes, numbers = [], []
    for _ in range(replicas):
        found = measure(Server(random.Random(rng.random())))
        outcomes.append(found.outcome)
        last = found.kept["long"][0].seconds
        arrivals = sorted(last + rng.uniform(0, 0.004) for _ in range(188))
        numbers.append(not math.isnan(stream_rate(arrivals, DESIGN.long_tokens).rate_tok_s))
    return score(
        "buffered stream",
        outcomes,
        RATE,
        bias=0.2,
        coverage=None,
        more=[most("stream gave a number in", share(numbers), 0)],
    )


def luck(replicas: int, seed: int) -> Score:
    """Acceptance that differs from reply to reply: the rate is worse, the step time is not, and it is said."""
    rng = random.Random(f"luck/{seed}")
    found = [measure(Server(random.Random(rng.random()), accept_luck=True)) for _ in range(replicas)]
    steps, identities, told = [], [], []
    for run in found:
        parts = split(run.kept["short"], run.kept["long"])
        assert parts is not None
        steps.append(parts.step_ms.value)
        identities.append(100 * parts.identity_error)
        told.append(not is_prefix(run.kept["short"][0].text, run.kept["long"][0].text))
    more = [
        most("step p95", p95(errors_of(steps, 1000 * STEP_S)), 0.8),
        least("prefix mismatch told in", share(told), 99),
        most("identity", max(identities), 0.5),
    ]
    return score("acceptance not deterministic", [run.outcome for run in found], RATE, bias=0.3, error=4.0, more=more)


def identity(replicas: int, seed: int) -> Score:
    """rate = accept_length / step, in every run of a quiet and of a noisy path."""
    rng = random.Random(f"identity/{seed}")
    worst = []
    for delay in (quiet, lognormal(0.020), outliers(0.10)):
        for _ in range(max(1, replicas // 3)):
            run = measure(Server(random.Random(rng.random()), delay))
            parts = split(run.kept["short"], run.kept["long"])
            assert parts is not None
            worst.append(100 * parts.identity_error)
    return Score("identity r = a/s", len(worst), (most("largest", max(worst), 0.5),))


def wandering_clock(replicas: int, seed: int) -> Score:
    """An AR(1) clock of 2 %: requests of one measurement are not independent, and the interval does not know."""
    rng = random.Random(f"clock/{seed}")
    found = [measure(Server(random.Random(rng.random()), clock=0.02)).outcome for _ in range(replicas)]
    note = "known limit: the interval is of this minute, not of the hour"
    return score("AR(1) clock, 2 %", found, RATE, coverage=None, notes=[note])


ROWS: dict[str, Callable[[int, int], Score]] = {
    **{name: scenario_row(name) for name in SCENARIOS},
    "rtt": rtt,
    "buffered": buffered,
    "luck": luck,
    "identity": identity,
    "clock": wandering_clock,
}
