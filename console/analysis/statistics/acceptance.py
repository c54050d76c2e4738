"""Step time and accept_length: a decode rate taken apart into how long a step takes and how many tokens it commits.

::

    split(short, long, *, confidence=0.95) -> Split | None     both arms' replies with their steps
        Split(rate, step_ms, accept_length, identity_error)
    accept_length(tokens, steps, *, confidence=0.95) -> Estimate      a class of text, one pair of counts a prompt
    accept_from_drafts(accepted, drafts) -> float                     1 + accepted / drafts, from counters
    draft_positions(histograms) -> tuple[float, ...]                  how often each token of a draft was accepted
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean, median

from console.analysis.statistics.decode import two_point
from console.analysis.statistics.distributions import t_quantile
from console.analysis.statistics.estimate import Estimate, numbers
from console.analysis.statistics.replies import Reply
from console.analysis.statistics.shift import shift

IDENTITY_LIMIT = 0.005


@dataclass(frozen=True)
class Split:
    """Rate in tokens/s, step in milliseconds, accept_length in tokens/step, bonus token included.

    `identity_error` is |rate / (accept_length / step) - 1|; above `IDENTITY_LIMIT` one of the three is wrong.
    """

    rate: Estimate
    step_ms: Estimate
    accept_length: Estimate
    identity_error: float


def split(short: Sequence[Reply], long: Sequence[Reply], *, confidence: float = 0.95) -> Split | None:
    """Take a two-point apart with the steps of each request; None when a reply does not say its steps.

    step = D / (S2 - S1) and accept_length = delta_tokens / (S2 - S1): the first token and the unfinished last step are
    in both arms and cancel. Where replies of one length took different numbers of steps, the step time is the slope of
    duration over steps between arms (each long reply against each short one), so that luck of the text is not in it.
    Raises ValueError on empty arms or arms of one length.
    """
    if not short or not long:
        raise ValueError("split: an arm is empty")
    if any(reply.steps is None for reply in (*short, *long)):
        return None
    delta_tokens = median(reply.tokens for reply in long) - median(reply.tokens for reply in short)
    short_s, long_s = [reply.seconds for reply in short], [reply.seconds for reply in long]
    rate = two_point(short_s, long_s, delta_tokens, confidence=confidence)
    between = shift(
        [float(reply.steps or 0) for reply in short],
        [float(reply.steps or 0) for reply in long],
        confidence=confidence,
    )
    if between.value <= 0:
        return None
    step_ms = step_time(short, long, confidence)
    accept = replace(between, value=delta_tokens / between.value, method="steps_per_request")
    accept = replace(
        accept,
        low=delta_tokens / between.high,
        high=delta_tokens / between.low if between.low > 0 else math.inf,
    )
    implied = accept.value / step_ms.value * 1000 if step_ms.value else math.nan
    return Split(rate, step_ms, accept, abs(rate.value / implied - 1))


def step_time(short: Sequence[Reply], long: Sequence[Reply], confidence: float = 0.95) -> Estimate:
    """Milliseconds a decode step takes; replies must say their steps."""
    slope = median(
        (b.seconds - a.seconds) / ((b.steps or 0) - (a.steps or 0))
        for a in short
        for b in long
        if (b.steps or 0) > (a.steps or 0)
    )
    # With the slope known, what is left of each duration is overhead and noise: its shift is (nearly) 0, and value and
    # interval are the slope's, in units of the steps between the arms.
    left = shift(
        [a.seconds - slope * (a.steps or 0) for a in short],
        [b.seconds - slope * (b.steps or 0) for b in long],
        confidence=confidence,
    )
    between = median((b.steps or 0) - (a.steps or 0) for a in short for b in long)
    base = slope * 1000
    return Estimate(
        base + left.value / between * 1000,
        base + left.low / between * 1000,
        base + left.high / between * 1000,
        confidence,
        n=len(short) + len(long),
        method="two_point",
        flags=left.flags,
    )


def accept_length(tokens: Sequence[int], steps: Sequence[int], *, confidence: float = 0.95) -> Estimate:
    """accept_length of a class of text: the ratio of sums over prompts, with the linearised variance of a ratio.

    `tokens`: committed by decode steps, one number a prompt (completion less the first token, which prefill makes);
    `steps`: taken. Prompts, not tokens, are the sample: `few prompts` below 20.
    Source: Cochran, Sampling Techniques, 3rd ed., 6.3. Raises ValueError on unequal lengths or no steps.
    """
    if len(tokens) != len(steps):
        raise ValueError("accept_length: tokens and steps must be of the same prompts")
    counts, taken = numbers(tokens, "tokens"), numbers(steps, "steps")
    if sum(taken) <= 0:
        raise ValueError("accept_length: no steps")
    value = sum(counts) / sum(taken)
    prompts = len(counts)
    flags = ("few prompts",) if prompts < 20 else ()
    if prompts < 2:
        return Estimate(value, -math.inf, math.inf, confidence, n=prompts, method="ratio", flags=flags)
    rest = sum((count - value * step) ** 2 for count, step in zip(counts, taken, strict=True))
    error = math.sqrt(rest / (prompts * (prompts - 1))) / mean(taken)
    reach = t_quantile((1 + confidence) / 2, prompts - 1) * error
    return Estimate(value, value - reach, value + reach, confidence, n=prompts, method="ratio", flags=flags)


def accept_from_drafts(accepted: float, drafts: float) -> float:
    """accept_length from counters over a window: the bonus token and the drafted ones accepted. nan without drafts."""
    return 1 + accepted / drafts if drafts > 0 else math.nan


def draft_positions(histograms: Sequence[Sequence[int]]) -> tuple[float, ...]:
    """How often the first, second … token of a draft was accepted, of counts of steps that accepted 0, 1, 2 … of them.

    A token is accepted only when all before it are, so position k is accepted by every step that accepted k or more.
    """
    longest = max((len(one) for one in histograms), default=0)
    summed = [sum(one[index] for one in histograms if index < len(one)) for index in range(longest)]
    steps = sum(summed)
    return tuple(round(sum(summed[index:]) / steps, 4) for index in range(1, longest)) if steps else ()
