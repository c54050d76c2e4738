"""Is the observed rate what context, batch and acceptance make of the recorded step time?

ln observed = ln(accept_length) − ln step(context, batch) + ln(n / (n + rate × ttft)) + rest. The rest is explained
when it is within t(0.975, n − 2) standard errors of the prediction, or within 5 % of what the figures told may be
before they were rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from console.analysis.diagnosis.complaint import Complaint
from console.analysis.diagnosis.curve import Curve

SMALL = math.log(1.05)
# A factor that moves the rate by less than this explains nothing.
TELLING = 1.05
NOT_ENOUGH = "not enough to say"
EXPLAINED = "explained"
NOT_EXPLAINED = "not explained"


@dataclass(frozen=True)
class Reference:
    """The rate that was expected, and what it was made of: a cell of the recorded sweep."""

    rate_tok_s: float
    context_tokens: float  # of the middle of its output
    accept_length: float
    prompt_tokens: float
    text_class: str = ""


@dataclass(frozen=True)
class Factor:
    """What one thing does to the rate: `ratio` is observed condition over reference."""

    name: str
    ratio: float
    text: str

    @property
    def telling(self) -> bool:
        return max(self.ratio, 1.0 / self.ratio) >= TELLING


@dataclass(frozen=True)
class Reconciled:
    """`verdict` is one of three words; `rest` is observed over predicted. Rates in tok/s."""

    verdict: str
    missing: tuple[str, ...] = ()
    predicted: float = 0.0
    low: float = 0.0
    high: float = 0.0
    step_ms: float = 0.0
    context_tokens: float = 0.0
    rest: float = 1.0
    factors: tuple[Factor, ...] = ()
    beyond: float = 1.0  # how many times further than the curve was seen
    sentence: str = ""
    telling: tuple[Factor, ...] = field(default=())


def reconcile(
    complaint: Complaint,
    curve: Curve | None,
    reference: Reference | None,
    quantile: Callable[[float, float], float],
) -> Reconciled:
    """The verdict. `quantile(p, df)` is Student's t."""
    missing = tuple(_missing(complaint, curve))
    if missing or curve is None or complaint.observed is None or complaint.accept_length is None:
        return Reconciled(NOT_ENOUGH, missing=missing, sentence=f"{NOT_ENOUGH}: {', '.join(missing)} missing")
    context, batch = complaint.context_tokens or 0.0, complaint.batch or 1.0
    observed, accept = complaint.observed, complaint.accept_length
    step_ms = curve.step_ms(context, batch)
    decode_rate = accept.value / step_ms * 1000.0
    share = _prefill_share(complaint, decode_rate)
    predicted = decode_rate * share
    t = quantile(0.975, curve.df) if curve.df > 0 else 0.0
    spread = math.hypot(curve.spread_ln(context, batch), accept.spread_ln)
    rounding = accept.reach_ln + observed.reach_ln if not accept.assumed else observed.reach_ln
    bound = max(SMALL + rounding, t * math.hypot(spread, observed.spread_ln))
    rest_ln = math.log(observed.value / predicted)
    verdict = EXPLAINED if abs(rest_ln) <= bound else NOT_EXPLAINED
    factors = _waterfall(curve, reference, accept.value, context, batch, share)
    telling = tuple(factor for factor in factors if factor.telling)
    done = Reconciled(
        verdict,
        predicted=predicted,
        low=predicted * math.exp(-t * spread),
        high=predicted * math.exp(t * spread),
        step_ms=step_ms,
        context_tokens=context,
        rest=math.exp(rest_ln),
        factors=factors,
        telling=telling,
        beyond=curve.beyond(context),
    )
    return Reconciled(**{**done.__dict__, "sentence": _sentence(done, complaint)})


def _missing(complaint: Complaint, curve: Curve | None) -> list[str]:
    asked = {
        "a curve of step time (a recorded sweep, or enough decode lines)": curve,
        "the observed rate (--observed)": complaint.observed,
        "the context (--prompt, --tokens)": complaint.context_tokens,
        "the acceptance length (--accept)": complaint.accept_length,
    }
    return [name for name, value in asked.items() if value is None]


def _prefill_share(complaint: Complaint, decode_rate: float) -> float:
    """The part of the request's time that is decoding: n / (n + rate × ttft); 1 when the first token's is not told."""
    if complaint.ttft_s is None or not complaint.output_tokens:
        return 1.0
    return complaint.output_tokens / (complaint.output_tokens + decode_rate * complaint.ttft_s.value)


def _waterfall(
    curve: Curve, reference: Reference | None, accept: float, context: float, batch: float, share: float
) -> tuple[Factor, ...]:
    """Each factor's part of the way from the reference to the prediction. Their product is predicted / reference.

    Without a reference it is the curve's own shortest context with the same acceptance.
    """
    if reference is None:
        was_context, was_accept = curve.contexts[0], accept
    else:
        was_context, was_accept = reference.context_tokens, reference.accept_length
    alone = curve.step_ms(context, 1.0)
    return (
        Factor("accept_length", accept / was_accept, f"accept_length {was_accept:.3g} -> {accept:.3g}"),
        Factor(
            "context",
            curve.step_ms(was_context, 1.0) / alone,
            f"context {was_context:,.0f} -> {context:,.0f} tokens: step {curve.step_ms(was_context, 1.0):.1f} -> "
            f"{alone:.1f} ms",
        ),
        Factor("batch", alone / curve.step_ms(context, batch), f"batch 1 -> {batch:g}"),
        Factor("prefill", share, f"decoding is {share:.1%} of the request's time"),
    )


def _sentence(done: Reconciled, complaint: Complaint) -> str:
    assert complaint.observed is not None
    predicted = f"predicted {done.predicted:.1f} tok/s [{done.low:.1f},{done.high:.1f}]"
    if done.verdict == EXPLAINED:
        names = [factor.name for factor in done.telling]
        by = f" by {_count(len(names))}: {' and '.join(names)}" if names else ": as the curve says"
        return f"explained{by}; {predicted}"
    off = 1.0 / done.rest
    if off > 1.0:
        return f"not explained: steps {off:.1f}x slower than the curve; {predicted}"
    return f"not explained: faster than the curve by {done.rest:.1f}x: check the context given; {predicted}"


def _count(number: int) -> str:
    words = ("nothing", "one factor", "two factors", "three factors", "four factors")
    return words[number] if number < len(words) else f"{number} factors"
