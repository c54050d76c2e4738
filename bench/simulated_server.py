"""A server whose decode rate is known, as durations without sockets: one scenario a row of the acceptance table."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from console.analysis.statistics.replies import Reply

RATE = 160.0  # tokens/s: 3.2 tokens a step of 20 ms
STEP_S = 0.020
ACCEPT = 3.2
OVERHEAD_S = 0.35
PROMPT_TOKENS = 4096
# How many tokens a step commits, with these weights: mean 3.2, a variation of 0.4 between steps.
COMMITS = ((1, 0.10), (2, 0.20), (3, 0.25), (4, 0.30), (5, 0.15))

Delay = Callable[[random.Random], float]


def quiet(rng: random.Random) -> float:
    """2 ms, the least a client sees."""
    return rng.gauss(0, 0.002)


def lognormal(spread_s: float) -> Delay:
    """A right tail of this standard deviation (shape 1)."""
    scale = spread_s / ((2.718281828459045 - 1) * 2.718281828459045) ** 0.5
    return lambda rng: quiet(rng) + scale * rng.lognormvariate(0, 1)


def loss(probability: float) -> Delay:
    """The request's packet or the reply's last one is lost, each with `probability`: a retransmission timeout each."""

    def delay(rng: random.Random) -> float:
        waited = 0.0
        for _ in range(2):
            timeout = rng.uniform(0.2, 0.4)
            while rng.random() < probability:
                waited += timeout
                timeout *= 2
        return quiet(rng) + waited

    return delay


def outliers(probability: float) -> Delay:
    """Now and then something else takes 0.3 to 2 s."""
    return lambda rng: quiet(rng) + (rng.uniform(0.3, 2.0) if rng.random() < probability else 0.0)


def constant(rtt_s: float) -> Delay:
    return lambda rng: quiet(rng) + rtt_s


def cold_prefill(spread_s: float, mean_s: float = 1.5) -> Delay:
    """No prefix cache: every request computes its prompt, and that varies."""
    return lambda rng: quiet(rng) + max(0.05, rng.gauss(mean_s, spread_s))


@dataclass
class Server:
    """Answers one request after the other; `delay` is what path and queue add to each.

    `accept_luck`: steps commit a random number of tokens instead of always 3.2. `early_stop`: share of long replies
    that end before the length asked for. `first_extra_s`: the first request finds a cold cache and takes that longer.
    `clock`: spread of an AR(1) clock over requests, as a share.
    """

    rng: random.Random
    delay: Delay = quiet
    accept_luck: bool = False
    early_stop: float = 0.0
    first_extra_s: float = 0.0
    clock: float = 0.0
    requests: int = 0
    slower: float = 0.0

    def ask(self, tokens: int) -> Reply:
        self.requests += 1
        made = tokens
        if tokens > 100 and self.rng.random() < self.early_stop:
            made = self.rng.randrange(20, tokens)
        text = ""
        if self.accept_luck:
            steps, text = self.lucky(made)
            decode_s = steps * STEP_S
        else:
            steps, decode_s = round(made / ACCEPT), made / RATE
        if self.clock:
            memory = 0.9
            self.slower = memory * self.slower + self.clock * (1 - memory**2) ** 0.5 * self.rng.gauss(0, 1)
            decode_s *= 1 + self.slower
        cached = PROMPT_TOKENS
        extra = 0.0
        if self.requests == 1 and self.first_extra_s:
            extra, cached = self.first_extra_s, 0
        seconds = OVERHEAD_S + extra + decode_s + self.delay(self.rng)
        return Reply(made, seconds, steps, cached, PROMPT_TOKENS, text)

    def lucky(self, tokens: int) -> tuple[int, str]:
        """Steps until `tokens` are there, and a text that two replies share only by chance."""
        counts = self.rng.choices([count for count, _ in COMMITS], [weight for _, weight in COMMITS], k=tokens)
        made = steps = 0
        while made < tokens:
            made += counts[steps]
            steps += 1
        return steps, "".join(str(count) for count in counts[:steps])
