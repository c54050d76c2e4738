"""What would help, ranked by what the curve itself predicts. No gain here is a rule of thumb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from console.analysis.diagnosis.curve import Curve

BATCH = 4.0
LEAST_GAIN = 1.05
# A draft position accepted this seldom costs a verified token a step and commits next to nothing.
IDLE_POSITION = 0.05
# One accepted this often is not the last one worth drafting.
LIKELY_POSITION = 0.5


@dataclass(frozen=True)
class Lever:
    """`gain` is the predicted rate over the rate now: of this request, or of all together where `whole` is set."""

    text: str
    gain: float
    evidence: str
    whole: bool = False


def levers(
    curve: Curve,
    context_tokens: float,
    batch: float,
    accept_length: float,
    *,
    speculative: bool = True,
    positions: Sequence[float] = (),
    ceiling: float | None = None,
) -> list[Lever]:
    """Greatest gain first. `positions` are the acceptance rates of the draft's positions, where the engine tells them.

    `ceiling` is the most a step can commit: a drafter cannot be made to commit more.
    """
    now = curve.step_ms(context_tokens, batch)
    found: list[Lever] = []
    if speculative:
        target = min(2.0 * accept_length, ceiling) if ceiling else 2.0 * accept_length
        found.append(
            Lever(
                f"drafter acceptance {accept_length:.3g}->{target:.3g}",
                target / accept_length,
                "rate is proportional to what a step commits",
            )
        )
    halved = replace(curve, slope_ms=curve.slope_ms / 2.0).step_ms(context_tokens, batch)
    found.append(
        Lever(
            f"step time per token of context halved ({curve.slope_ms * 1000:.3g}->{curve.slope_ms * 500:.3g} us)",
            now / halved,
            f"{curve.slope_ms * context_tokens * batch / now:.0%} of a step of {now:.1f} ms is context",
        )
    )
    if batch > 1.0:
        found.append(
            Lever(
                f"alone instead of in a batch of {batch:g}", now / curve.step_ms(context_tokens, 1.0), "the same curve"
            )
        )
    wide = max(BATCH, 2.0 * batch)
    gain = wide / curve.step_ms(context_tokens, wide) * now / batch
    inside = "" if wide <= curve.batches[1] else f", extrapolated from batch {curve.batches[1]:g}"
    found.append(Lever(f"batching {batch:g}->{wide:g}, all requests together", gain, f"the curve{inside}", whole=True))
    shorter = _draft_length(positions)
    found += [one for one in (shorter, _longer_draft(positions)) if one]
    return sorted((one for one in found if one.gain >= LEAST_GAIN), key=lambda one: -one.gain) + [
        one for one in found if one is shorter and one.gain < LEAST_GAIN
    ]


def _longer_draft(positions: Sequence[float]) -> Lever | None:
    """A longer draft, where its last token is accepted more often than not: as many again, each as the last one was."""
    if len(positions) < 2 or positions[-1] < LIKELY_POSITION or not positions[-2]:
        return None
    ratio = min(positions[-1] / positions[-2], 1.0)
    more = sum(positions[-1] * ratio**number for number in range(1, len(positions) + 1))
    committed = 1.0 + sum(positions)
    return Lever(
        f"draft length {len(positions)}->{2 * len(positions)}",
        (committed + more) / committed,
        f"the last token is accepted {positions[-1]:.0%} of the time, each further one taken as x{ratio:.2f} of that; "
        "what a longer verify step costs must be measured",
    )


def _draft_length(positions: Sequence[float]) -> Lever | None:
    """A shorter draft, where the last positions are hardly ever accepted: what it would cost of the commit."""
    idle = 0
    while idle < len(positions) and positions[len(positions) - 1 - idle] < IDLE_POSITION:
        idle += 1
    if not idle:
        return None
    kept = 1.0 + sum(positions[: len(positions) - idle])
    return Lever(
        f"draft length {len(positions)}->{len(positions) - idle}",
        kept / (1.0 + sum(positions)),
        f"the last {idle} positions are accepted under {IDLE_POSITION:.0%} of the time; "
        "what a shorter verify step saves must be measured",
    )
