"""Why a rate is what it is: predicted from accept_length and step time, factor by factor, and what is left over.

::

    waterfall(observed, accept, fit, context_tokens, *,
              tokens=None, wait_s=0.0, batch=None, reference=None) -> Waterfall
        observed: Stated tok/s; accept: Stated accept_length; context_tokens: prompt + tokens / 2
        wait_s: time to first token and queue; batch: Stated, step at this batch / step alone
        Waterfall(predicted, terms, remainder, limit, explained, steps_ratio)
    Reference(rate, accept, context_tokens)              what the observed rate is compared with
    implied_accept(rate_tok_s, fit, context_tokens) -> Estimate
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from console.analysis.statistics.distributions import t_quantile
from console.analysis.statistics.estimate import Estimate
from console.analysis.statistics.stated import Stated
from console.analysis.statistics.sweep import SweepFit

ALWAYS_EXPLAINED = 0.05


@dataclass(frozen=True)
class Reference:
    """An earlier rate (tokens/s) with the accept_length and context it was measured at."""

    rate: Stated
    accept: Stated
    context_tokens: float


@dataclass(frozen=True)
class Term:
    """One factor between reference and observed: 0.5 halves the rate. Names: accept_length, context, batch, prefill."""

    name: str
    factor: float

    @property
    def log(self) -> float:
        return math.log(self.factor)


@dataclass(frozen=True)
class Waterfall:
    """`predicted` and the product of the factors with `start` are the same number; `remainder` is ln(observed / it).

    `limit` is what the remainder may be and still be explained; `steps_ratio` how much longer than the curve's the
    steps would be if the remainder were in them alone (1.2: a fifth longer).
    """

    observed: Stated
    start: float
    predicted: Estimate
    terms: tuple[Term, ...]
    remainder: float
    limit: float

    @property
    def explained(self) -> bool:
        return abs(self.remainder) <= max(self.limit, ALWAYS_EXPLAINED)

    @property
    def steps_ratio(self) -> float:
        return math.exp(-self.remainder)


def waterfall(
    observed: Stated,
    accept: Stated,
    fit: SweepFit,
    context_tokens: float,
    *,
    tokens: float | None = None,
    wait_s: float = 0.0,
    batch: Stated | None = None,
    reference: Reference | None = None,
    confidence: float = 0.95,
) -> Waterfall:
    """ln observed = ln accept - ln step(context) - ln batch + ln(n / (n + rate·wait)) + remainder.

    The limit of the remainder is t(n-2) times the root of all variances: of the step a new cell would show at this
    context, and of every stated number by half a unit of its last digit. A line without known spread gives 5 %.
    With a `reference` the factors lead from its rate as predicted to the observed one; without, from one token a step
    at context 0. accept_length must be the user's own: another text's is off by its whole difference.
    `tokens`: of the reply, for the share of the waiting; None: the rate is of decode alone.
    """
    batch_factor = batch.value if batch else 1.0
    step_ms = fit.mean_at(context_tokens)
    if step_ms <= 0:
        raise ValueError(f"waterfall: the line gives {step_ms:.1f} ms at {context_tokens:,.0f} tokens")
    decode = accept.value / (step_ms * batch_factor) * 1000
    share = 1.0 if tokens is None else tokens / (tokens + decode * wait_s)
    predicted = decode * share
    start_accept = reference.accept.value if reference else 1.0
    start_step = fit.mean_at(reference.context_tokens if reference else 0.0)
    start = start_accept / start_step * 1000
    terms = (
        Term("accept_length", accept.value / start_accept),
        Term("context", start_step / step_ms),
        Term("batch", 1 / batch_factor),
        Term("prefill", share),
    )
    known = math.isfinite(fit.variances[0]) and fit.degrees > 0
    limit = ALWAYS_EXPLAINED
    reach = math.inf
    if known:
        t = t_quantile((1 + confidence) / 2, fit.degrees)
        step_variance = (fit.standard_error(context_tokens) / step_ms) ** 2
        parts = step_variance + accept.log_variance + (batch.log_variance if batch else 0.0)
        limit = t * math.sqrt(parts + observed.log_variance)
        reach = t * math.sqrt(parts)
    fold = fit.extrapolation(context_tokens)
    estimate = Estimate(
        predicted,
        predicted * math.exp(-reach),
        predicted * math.exp(reach),
        confidence,
        "prediction",
        fit.n,
        "accept_length/step",
        (f"extrapolated {fold:.1f}-fold",) if fold > 1 else (),
    )
    return Waterfall(observed, start, estimate, terms, observed.log - math.log(predicted), limit)


def implied_accept(rate_tok_s: float, fit: SweepFit, context_tokens: float, *, batch: float = 1.0) -> Estimate:
    """The accept_length that a decode rate at this context would need, with the step's prediction interval."""
    step = fit.predict(context_tokens)
    scale = rate_tok_s * batch / 1000
    return Estimate(
        scale * step.value,
        scale * step.low,
        scale * step.high,
        step.confidence,
        "prediction",
        fit.n,
        "rate*step",
        step.flags,
    )
