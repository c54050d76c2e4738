"""Step time as a line over context, `step_ms = intercept + slope · context`, from the cells of a sweep.

::

    Cell(context_tokens, step_ms)                      context_tokens: abscissa(prompt, short, long)
    abscissa(prompt_tokens, short_tokens, long_tokens) -> float
    fit(cells, *, confidence=0.95) -> SweepFit         at least 3 cells at 2 contexts
        SweepFit.intercept_ms, .slope_ms_per_token: Estimate
        SweepFit.predict(context_tokens, *, confidence=None) -> Estimate     ms, a prediction interval
        SweepFit.mean_at(context_tokens) -> float                            ms, the line itself
        SweepFit.extrapolation(context_tokens) -> float                      1 within what was measured, else N-fold
        SweepFit.noise                                                       spread of a cell, as a share of its step
    stated_fit(intercept_ms, slope_ms_per_token, lowest, highest) -> SweepFit     of a record that keeps only the line

Alarms (a contaminated cell, a knee, drift): `sweep_alarms`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from console.analysis.statistics.distributions import t_quantile
from console.analysis.statistics.estimate import Estimate, numbers

ROUNDS = 20


@dataclass(frozen=True)
class Cell:
    """One two-point pair's step time, at the context its steps had on average."""

    context_tokens: float
    step_ms: float


def abscissa(prompt_tokens: float, short_tokens: float, long_tokens: float) -> float:
    """The context at which a two-point's step time holds: the steps between the arms run from n1 to n2 past the prompt.

    A cell of 13 prompt tokens measured with 32 and 600 is a cell at 329.
    """
    return prompt_tokens + (short_tokens + long_tokens) / 2


@dataclass(frozen=True)
class SweepFit:
    """A fitted line with its covariance, complete in itself: it can be kept and asked again.

    `variances` are those of intercept (ms²), of slope (ms²/token²) and their covariance (ms²/token).
    """

    intercept_ms: Estimate
    slope_ms_per_token: Estimate
    variances: tuple[float, float, float]
    noise: float
    n: int
    lowest_tokens: float
    highest_tokens: float
    confidence: float = 0.95
    cells: tuple[Cell, ...] = field(default=(), repr=False)
    parameters: int = 2

    @property
    def degrees(self) -> int:
        return self.n - self.parameters

    def mean_at(self, context_tokens: float) -> float:
        """Step time on the line, milliseconds."""
        return self.intercept_ms.value + self.slope_ms_per_token.value * context_tokens

    def standard_error(self, context_tokens: float, *, new_cell: bool = True) -> float:
        """Of the line at this context, ms; with `new_cell` also of one more cell measured there."""
        a, b, ab = self.variances
        line = a + 2 * context_tokens * ab + context_tokens**2 * b
        cell = (self.noise * self.mean_at(context_tokens)) ** 2 if new_cell else 0.0
        return math.sqrt(max(0.0, line) + cell)

    def predict(self, context_tokens: float, *, confidence: float | None = None) -> Estimate:
        """Step time of a cell at this context, ms: mean ± t(n-2)·√(vᵀΣv + σ²·mean²).

        Outside the measured contexts it carries `extrapolated N.N-fold`: the line itself may end there.
        """
        level = self.confidence if confidence is None else confidence
        value = self.mean_at(context_tokens)
        error = self.standard_error(context_tokens)
        reach = t_quantile((1 + level) / 2, self.degrees) * error if error else 0.0
        fold = self.extrapolation(context_tokens)
        flags = (f"extrapolated {fold:.1f}-fold",) if fold > 1 else ()
        return Estimate(value, value - reach, value + reach, level, "prediction", self.n, "wls", flags)

    def extrapolation(self, context_tokens: float) -> float:
        """1 within the measured contexts; N above N times the highest; below the lowest the other way round."""
        if context_tokens > self.highest_tokens:
            return context_tokens / self.highest_tokens
        if 0 < context_tokens < self.lowest_tokens:
            return self.lowest_tokens / context_tokens
        return 1.0 if context_tokens else math.inf


def fit(cells: Sequence[Cell], *, confidence: float = 0.95) -> SweepFit:
    """Weighted least squares with weights 1/fitted²: a cell's noise is a share of its step, not a number of ms.

    The weights come from the fit itself, repeated until it stands still; weights from the measured values would pull
    the line down. Raises ValueError below three cells, for one context only, or step times that are not positive.
    """
    import numpy as np

    x = np.asarray(numbers([cell.context_tokens for cell in cells], "contexts", 3))
    y = np.asarray(numbers([cell.step_ms for cell in cells], "step times", 3))
    if np.ptp(x) == 0:
        raise ValueError("fit: cells at two contexts or more are needed")
    if y.min() <= 0:
        raise ValueError("fit: step times must be positive")
    scale = float(x.max())
    design = np.stack([np.ones_like(x), x / scale], axis=1)
    fitted = y.copy()
    coefficients = np.zeros(2)
    for _ in range(ROUNDS):
        weights = 1 / np.maximum(fitted, 1e-3 * float(y.mean()))
        found = np.linalg.lstsq(design * weights[:, None], y * weights, rcond=None)[0]
        done = bool(np.allclose(found, coefficients, rtol=1e-12, atol=0))
        coefficients = found
        fitted = design @ coefficients
        if done:
            break
    rest = (y - fitted) * weights
    degrees = len(y) - 2
    noise2 = float(rest @ rest) / degrees
    covariance = noise2 * np.linalg.inv((design * weights[:, None]).T @ (design * weights[:, None]))
    reach = t_quantile((1 + confidence) / 2, degrees)

    def estimate(value: float, variance: float) -> Estimate:
        error = reach * math.sqrt(max(0.0, variance))
        return Estimate(value, value - error, value + error, confidence, n=len(y), method="wls")

    a_variance, b_variance = float(covariance[0, 0]), float(covariance[1, 1]) / scale**2
    return SweepFit(
        estimate(float(coefficients[0]), a_variance),
        estimate(float(coefficients[1]) / scale, b_variance),
        (a_variance, b_variance, float(covariance[0, 1]) / scale),
        math.sqrt(noise2),
        len(y),
        float(x.min()),
        float(x.max()),
        confidence,
        tuple(cells),
    )


def stated_fit(intercept_ms: float, slope_ms_per_token: float, lowest: float, highest: float) -> SweepFit:
    """A line of which only the two numbers are known: it predicts a value, and no interval (it is open)."""
    return SweepFit(
        Estimate(intercept_ms, -math.inf, math.inf, method="stated"),
        Estimate(slope_ms_per_token, -math.inf, math.inf, method="stated"),
        (math.inf, 0.0, 0.0),
        0.0,
        0,
        lowest,
        highest,
    )
