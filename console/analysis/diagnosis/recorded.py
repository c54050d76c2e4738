"""What is on record of a target's speed: the cells of its last sweep, and rates that were measured otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from console.analysis.diagnosis.complaint import Baseline
from console.analysis.diagnosis.curve import Curve
from console.analysis.diagnosis.reconcile import Reference
from console.analysis.statistics.sweep import Cell as SweepCell
from console.analysis.statistics.sweep import SweepFit, fit

# A rate that was quoted is one on record when they differ by no more than this.
SAME_RATE = math.log(1.05)
# Contexts within a factor of two are alike.
ALIKE = 2.0


@dataclass(frozen=True)
class Cell:
    """One context of a sweep: `context_tokens` is the middle of its output, `prompt_tokens` where that began."""

    prompt_tokens: float
    context_tokens: float
    rate_tok_s: float
    accept_length: float
    text_class: str = ""
    draft_positions: tuple[float, ...] = ()  # how often each token of a draft was accepted

    @property
    def step_ms(self) -> float:
        return self.accept_length / self.rate_tok_s * 1000.0


@dataclass(frozen=True)
class Rate:
    """A rate measured at a context without what a step committed; `source` says when and how."""

    rate_tok_s: float
    context_tokens: float
    source: str = ""


def curve_of(cells: Sequence[Cell], source: str) -> Curve | None:
    """The line through the cells; None with fewer than three, or at one context only."""
    if len(cells) < 3 or len({cell.context_tokens for cell in cells}) < 2:
        return None
    return curve_of_fit(fit([SweepCell(cell.context_tokens, cell.step_ms) for cell in cells]), source)


def curve_of_fit(line: SweepFit, source: str) -> Curve:
    """A sweep's fit, measured one request at a time, as a curve of context and batch."""
    a, b, ab = line.variances
    return Curve(
        intercept_ms=line.intercept_ms.value,
        slope_ms=line.slope_ms_per_token.value,
        covariance=((a, ab, 0.0), (ab, b, 0.0), (0.0, 0.0, 0.0)),
        noise=line.noise,
        df=line.degrees,
        contexts=(line.lowest_tokens, line.highest_tokens),
        source=source,
    )


def reference_of(baselines: Sequence[Baseline], cells: Sequence[Cell]) -> tuple[Reference | None, Cell | None]:
    """The cell that the first quoted rate is, or else the shortest one; and the cell only where it was recognised."""
    if not cells:
        return None, None
    for baseline in baselines:
        near = min(cells, key=lambda cell: abs(math.log(cell.rate_tok_s / baseline.rate.value)))
        if abs(math.log(near.rate_tok_s / baseline.rate.value)) <= SAME_RATE:
            return _reference(near), near
    return _reference(min(cells, key=lambda cell: cell.context_tokens)), None


def _reference(cell: Cell) -> Reference:
    return Reference(cell.rate_tok_s, cell.context_tokens, cell.accept_length, cell.prompt_tokens, cell.text_class)


def what_baselines_were(
    baselines: Sequence[Baseline], cells: Sequence[Cell], curve: Curve | None, context_tokens: float
) -> list[str]:
    """A sentence a quoted rate: what it was measured at, or what it would take at the context complained of."""
    told = []
    for baseline in baselines:
        rate = baseline.rate.value
        _, cell = reference_of([baseline], cells) if baseline.context_tokens is None else (None, None)
        if cell is not None:
            text = f" of {cell.text_class} text" if cell.text_class else ""
            at = f"{cell.prompt_tokens:,.0f} tokens of context at commit {cell.accept_length:.3g}"
            told.append(f"{rate:g} tok/s was {at}{text}")
        elif curve is not None:
            place = baseline.context_tokens or context_tokens
            needed = rate * curve.step_ms(place) / 1000.0
            told.append(f"{rate:g} tok/s at {place:,.0f} tokens takes an accept_length of {needed:.1f}")
    return told


def implied_acceptance(rates: Sequence[Rate], curve: Curve, context_tokens: float) -> tuple[float, float, int] | None:
    """(least, most, how many) of the accept_length that rates at like context imply; None without such rates."""
    alike = [
        rate for rate in rates if context_tokens / ALIKE <= max(rate.context_tokens, 1.0) <= context_tokens * ALIKE
    ]
    implied = [rate.rate_tok_s * curve.step_ms(rate.context_tokens) / 1000.0 for rate in alike]
    return (min(implied), max(implied), len(implied)) if implied else None
