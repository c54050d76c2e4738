"""What would help, ranked by what the curve itself predicts. No gain here is a rule of thumb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from console.analysis.diagnosis.curve import Curve

BATCH = 4.0
LEAST_GAIN = 1.05
# A draft position accepted this seldom costs a verified token a step and commits next to nothing.
IDLE_POSITION = 0.05


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
    if shorter := _draft_length(positions):
        found.append(shorter)
    return sorted((one for one in found if one.gain >= LEAST_GAIN), key=lambda one: -one.gain) + [
        one for one in found if one is shorter and one.gain < LEAST_GAIN
    ]


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
