"""Step time as a function of context and batch: from a recorded sweep, or from the windows of a production log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from console.analysis.diagnosis import window as w
from console.analysis.diagnosis.window import Excluded, Passive, Window

LEAST_WINDOWS = 6
# A window this many robust deviations off the line is none of its kind; noise is taken to be at least 1 %.
FAR_OFF = 6.0
LEAST_NOISE = 0.01
# Below this span of context (largest / smallest) a slope cannot be told from noise.
LEAST_SPAN = 1.2


@dataclass(frozen=True)
class Curve:
    """step_ms = intercept_ms + slope_ms × (context × batch) + batch_ms × (batch − 1).

    `covariance` is that of the three in this order; `noise` is the relative spread of one value around the curve, `df`
    its degrees of freedom. `contexts` and `batches` are the ranges it was seen in. `source` is for people.
    """

    intercept_ms: float
    slope_ms: float
    batch_ms: float = 0.0
    covariance: tuple[tuple[float, float, float], ...] = ((0.0,) * 3,) * 3
    noise: float = 0.0
    df: int = 0
    contexts: tuple[float, float] = (0.0, 0.0)
    batches: tuple[float, float] = (1.0, 1.0)
    source: str = ""

    def step_ms(self, context_tokens: float, batch: float = 1.0) -> float:
        return self.intercept_ms + self.slope_ms * context_tokens * batch + self.batch_ms * (batch - 1.0)

    def spread_ln(self, context_tokens: float, batch: float = 1.0) -> float:
        """Standard error of ln(step) for one new step time there: of the curve, and of a value around it."""
        at = (1.0, context_tokens * batch, batch - 1.0)
        variance = sum(at[i] * self.covariance[i][j] * at[j] for i in range(3) for j in range(3))
        return math.sqrt(max(variance, 0.0) / self.step_ms(context_tokens, batch) ** 2 + self.noise**2)

    def context_for(self, step_ms: float, batch: float = 1.0) -> float | None:
        """The context per request at which a step takes `step_ms`; None where no context does."""
        if self.slope_ms <= 0:
            return None
        tokens = (step_ms - self.intercept_ms - self.batch_ms * (batch - 1.0)) / (self.slope_ms * batch)
        return tokens if tokens >= 0 else None

    def beyond(self, context_tokens: float) -> float:
        """How many times further than the curve was seen; 1 inside."""
        low, high = self.contexts
        if high <= 0 or context_tokens <= high:
            return 1.0 if context_tokens >= low or low <= 0 else low / max(context_tokens, 1.0)
        return context_tokens / high


def fit_windows(passive: Passive, source: str = "the log") -> tuple[Curve | None, Passive]:
    """The curve through the windows, and the windows it rests on; what was far off is excluded by name.

    Starts from a least-absolute fit (iterated weights), which a fifth of idle gaps does not move, and ends with least
    squares weighted by 1/step², because noise grows with the step. None where context hardly varies or windows are few.
    """
    windows = passive.windows
    if len(windows) < LEAST_WINDOWS or not _varies(windows):
        note = (
            f"{len(windows)} usable windows: too few for a curve of step time"
            if len(windows) < LEAST_WINDOWS
            else "context hardly varies in the log: no curve of step time"
        )
        return None, replace(passive, notes=(*passive.notes, note))
    start = _least_absolute(windows)
    off = [abs(one.step_s * 1000 / _at(start, one) - 1.0) for one in windows]
    scale = max(1.4826 * median(off), LEAST_NOISE)
    kept = tuple(one for one, far in zip(windows, off, strict=True) if far <= FAR_OFF * scale)
    if len(kept) < LEAST_WINDOWS or not _varies(kept):
        return None, replace(passive, notes=(*passive.notes, "the windows of the log lie on no common curve"))
    left_out = len(windows) - len(kept)
    excluded = (*passive.excluded, *((Excluded(w.UNLIKE, left_out),) if left_out else ()))
    return _weighted(kept, source), replace(passive, windows=kept, excluded=excluded)


def _varies(windows: Sequence[Window]) -> bool:
    totals = sorted(one.total_tokens for one in windows)
    low, high = totals[len(totals) // 20], totals[-1 - len(totals) // 20]
    return high >= LEAST_SPAN * max(low, 1.0)


def _at(beta: Sequence[float], one: Window) -> float:
    return sum(b * x for b, x in zip(beta, _row(one, len(beta)), strict=True))


def _row(one: Window, size: int) -> tuple[float, ...]:
    return (1.0, one.total_tokens, one.batch - 1.0)[:size]


def _least_absolute(windows: Sequence[Window]) -> list[float]:
    size = 3 if len({one.batch for one in windows}) > 1 else 2
    weights = [1.0 / (one.step_s * 1000) ** 2 for one in windows]
    beta, _ = _solve(windows, weights, size)
    for _ in range(40):
        # 1/|residual| turns squares into absolute values; relative residuals, so one more division by the step.
        weights = [
            1.0 / (max(abs(one.step_s * 1000 / max(_at(beta, one), 1e-3) - 1.0), 1e-4) * max(_at(beta, one), 1e-3) ** 2)
            for one in windows
        ]
        beta, _ = _solve(windows, weights, size)
    return beta


def _weighted(windows: Sequence[Window], source: str) -> Curve:
    size = 3 if len({one.batch for one in windows}) > 1 else 2
    while True:
        beta, inverse = _solve(windows, [1.0 / (one.step_s * 1000) ** 2 for one in windows], size)
        for _ in range(3):
            beta, inverse = _solve(windows, [1.0 / max(_at(beta, one), 1e-3) ** 2 for one in windows], size)
        df = len(windows) - size
        variance = sum((one.step_s * 1000 / _at(beta, one) - 1.0) ** 2 for one in windows) / df
        # What a further request costs beside its context is kept only where it can be told from nothing.
        if size == 2 or abs(beta[2]) > 3.0 * math.sqrt(max(variance * inverse[2][2], 0.0)):
            break
        size = 2
    covariance = tuple(
        tuple(variance * inverse[i][j] if i < size and j < size else 0.0 for j in range(3)) for i in range(3)
    )
    contexts = [one.context_tokens for one in windows]
    batches = [one.batch for one in windows]
    return Curve(
        intercept_ms=beta[0],
        slope_ms=beta[1],
        batch_ms=beta[2] if size == 3 else 0.0,
        covariance=covariance,  # type: ignore[arg-type]  # three by three
        noise=math.sqrt(variance),
        df=df,
        contexts=(min(contexts), max(contexts)),
        batches=(min(batches), max(batches)),
        source=source,
    )


def _solve(windows: Sequence[Window], weights: Sequence[float], size: int) -> tuple[list[float], list[list[float]]]:
    """Weighted least squares by the normal equations, and the inverse of their matrix."""
    rows = [_row(one, size) for one in windows]
    return solve(rows, [one.step_s * 1000 for one in windows], weights)


def solve(
    rows: Sequence[Sequence[float]], values: Sequence[float], weights: Sequence[float]
) -> tuple[list[float], list[list[float]]]:
    """Σ w·(y − x·β)² at its least: β and (XᵀWX)⁻¹. Columns are scaled first, so that tokens and ones go together."""
    size = len(rows[0])
    scale = [max(abs(row[i]) for row in rows) or 1.0 for i in range(size)]
    scaled = [[row[i] / scale[i] for i in range(size)] for row in rows]
    matrix = [
        [sum(w * r[i] * r[j] for w, r in zip(weights, scaled, strict=True)) for j in range(size)] for i in range(size)
    ]
    right = [sum(w * r[i] * y for w, r, y in zip(weights, scaled, values, strict=True)) for i in range(size)]
    inverse = _inverse(matrix)
    beta = [sum(inverse[i][j] * right[j] for j in range(size)) / scale[i] for i in range(size)]
    return beta, [[inverse[i][j] / (scale[i] * scale[j]) for j in range(size)] for i in range(size)]


def _inverse(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """Gauss–Jordan with pivots; at most three by three here."""
    size = len(matrix)
    work = [[*row, *(1.0 if i == j else 0.0 for j in range(size))] for i, row in enumerate(matrix)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(work[row][column]))
        work[column], work[pivot] = work[pivot], work[column]
        head = work[column][column] or 1e-300
        work[column] = [value / head for value in work[column]]
        for row in range(size):
            if row != column:
                factor = work[row][column]
                work[row] = [a - factor * b for a, b in zip(work[row], work[column], strict=True)]
    return [row[size:] for row in work]
