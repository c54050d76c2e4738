"""What speaks against the cells of a sweep: one that does not belong, a bend in the line, a drift while it ran.

::

    alarms(cells, *, remeasured=None) -> tuple[Alarm, ...]       all three; cells in the order they were measured
        remeasured: the first cell measured again after the last one
        Alarm(kind, text, cells, context_tokens=None, size=0.0)  kind: "contaminated" | "knee" | "drift"
    contaminated(cells) -> tuple[int, ...]                       indexes of cells far off the Theil–Sen line
    knee(cells) -> Knee | None
    drift(cells, remeasured=None) -> float | None                change over the sweep as a share, where there is one
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from console.analysis.statistics.decode import theil_sen
from console.analysis.statistics.distributions import t_tail
from console.analysis.statistics.sweep import Cell, fit

MAD_TO_SIGMA = 1.4826
CONTAMINATION_Z = 5.0
# A cell this near to the line harms nothing, however quiet the others are.
CONTAMINATION_LEAST = 0.02
KNEE_DELTA_AICC = 6.0
# A bend that moves no cell by more than this is of no use to anybody, however sure it is in a quiet sweep.
KNEE_LEAST = 0.01
DRIFT_LEAST = 0.02
# Of the trend over all cells, which is known better than the difference of two of them.
TREND_LEAST = 0.015
TREND_P = 0.02
SENTINEL_Z = 2.6


@dataclass(frozen=True)
class Alarm:
    """`size` is a share (contaminated: of the line; drift: over the sweep) or, at a knee, milliseconds."""

    kind: Literal["contaminated", "knee", "drift"]
    text: str
    cells: tuple[int, ...] = ()
    context_tokens: float | None = None
    size: float = 0.0


@dataclass(frozen=True)
class Knee:
    """Where the line breaks: between two measured contexts, with the jump (step) or change of slope (hinge)."""

    shape: Literal["step", "hinge"]
    context_tokens: float
    size: float
    delta_aicc: float


def alarms(cells: Sequence[Cell], *, remeasured: Cell | None = None) -> tuple[Alarm, ...]:
    """All that speaks against a sweep; a contaminated cell is left out before knee and drift are looked for."""
    found: list[Alarm] = []
    odd = contaminated(cells)
    intercept, slope = line(cells)
    for index in odd:
        cell = cells[index]
        off = cell.step_ms / (intercept + slope * cell.context_tokens) - 1
        text = f"the cell at {cell.context_tokens:,.0f} tokens is {off:+.0%} off the line of the others"
        found.append(Alarm("contaminated", text, (index,), cell.context_tokens, off))
    good = [cell for index, cell in enumerate(cells) if index not in odd]
    bend = knee(good)
    if bend:
        what = f"{bend.size:+.2f} ms" if bend.shape == "step" else f"{bend.size:+.4f} ms/token"
        text = f"the line breaks near {bend.context_tokens:,.0f} tokens: {what}"
        found.append(Alarm("knee", text, (), bend.context_tokens, bend.size))
    moved = drift(good, None if 0 in odd else remeasured)
    if moved is not None:
        found.append(Alarm("drift", f"steps changed by {moved:+.1%} while the sweep ran", size=moved))
    return tuple(found)


def line(cells: Sequence[Cell]) -> tuple[float, float]:
    return theil_sen([cell.context_tokens for cell in cells], [cell.step_ms for cell in cells])


def contaminated(cells: Sequence[Cell]) -> tuple[int, ...]:
    """Cells whose share off the Theil–Sen line is more than 5 robust standard deviations, and more than 2 %.

    A served prefix or another client's load shows so; a difference between two fits of the slope does not show it
    reliably. Below six cells, or three contexts, nothing can be told and nothing is.
    """
    if len(cells) < 6 or len({cell.context_tokens for cell in cells}) < 3:
        return ()
    intercept, slope = line(cells)
    off = [cell.step_ms / (intercept + slope * cell.context_tokens) - 1 for cell in cells]
    middle = median(off)
    # Two of the values are spent on the line.
    spread = MAD_TO_SIGMA * median(abs(value - middle) for value in off) * math.sqrt(len(off) / (len(off) - 2))
    limit = max(CONTAMINATION_LEAST, CONTAMINATION_Z * spread)
    return tuple(index for index, value in enumerate(off) if abs(value - middle) > limit)


def knee(cells: Sequence[Cell]) -> Knee | None:
    """A step or hinge that describes the cells better than one line by more than 6 in AICc.

    Two cells at each context find a step of 6 noise widths nearly always, one cell each in 3 of 10 sweeps: sweep every
    context twice. None below seven cells or four contexts. Source: Hurvich, Tsai, Biometrika 76, 1989.
    """
    contexts = sorted({cell.context_tokens for cell in cells})
    n = len(cells)
    if n < 7 or len(contexts) < 4:
        return None
    import numpy as np

    x = np.asarray([cell.context_tokens for cell in cells])
    y = np.asarray([cell.step_ms for cell in cells])
    straight = fit(cells)
    weights = 1 / np.maximum(straight.mean_at(0) + straight.slope_ms_per_token.value * x, 1e-3 * float(y.mean()))
    plain = np.stack([np.ones_like(x), x / contexts[-1]], axis=1)

    def left(design: object) -> tuple[float, float]:
        """Weighted sum of squares, and the last coefficient."""
        matrix = np.asarray(design) * weights[:, None]
        found = np.linalg.lstsq(matrix, y * weights, rcond=None)[0]
        rest = matrix @ found - y * weights
        return max(float(rest @ rest), 1e-18), float(found[-1])

    best: Knee | None = None
    base = aicc(left(plain)[0], n, 3)
    # Two contexts on each side: one alone is a cell off the line, which is the other alarm's matter.
    for below, above in pairwise(contexts[1:-1]):
        place = math.sqrt(max(below, 1.0) * above)
        for shape, column in (("step", (x > below) * 1.0), ("hinge", np.maximum(0.0, x - below))):
            rest, size = left(np.column_stack([plain, column]))
            gain = base - aicc(rest, n, 5)
            moved = abs(size) * (1.0 if shape == "step" else contexts[-1] - below)
            if moved < KNEE_LEAST * straight.mean_at(contexts[-1]):
                continue
            if gain > KNEE_DELTA_AICC and (best is None or gain > best.delta_aicc):
                best = Knee("step" if shape == "step" else "hinge", place, size, gain)
    return best


def aicc(rest: float, n: int, parameters: int) -> float:
    return n * math.log(rest / n) + 2 * parameters + 2 * parameters * (parameters + 1) / (n - parameters - 1)


def drift(cells: Sequence[Cell], remeasured: Cell | None = None) -> float | None:
    """Change of the step time from the first to the last measurement as a share; None when none is shown.

    Two looks: the first cell measured again is more than 2 % (and more than its noise) away; or, over all cells, the
    place in the order explains what the context does not (p < 0.02, and more than 1.5 %). The second needs six cells
    and a random order. The first alone would cry at every seventh sweep of 1 % noise, and miss every fourth drift of
    3 %.
    """
    measured = [*cells, *([remeasured] if remeasured else [])]
    contexts = {cell.context_tokens for cell in measured}
    noise = fit(cells).noise if len(cells) >= 4 and len({cell.context_tokens for cell in cells}) >= 2 else 0.0
    if len(measured) >= 6 and len(contexts) >= 2:
        change, p = order_trend(measured)
        if p < TREND_P and abs(change) > TREND_LEAST:
            return change
    if remeasured and cells:
        change = remeasured.step_ms / cells[0].step_ms - 1
        if abs(change) > max(DRIFT_LEAST, SENTINEL_Z * math.sqrt(2) * noise):
            return change
    return None


def order_trend(measured: Sequence[Cell]) -> tuple[float, float]:
    """Change over the sweep as a share, and its p, from a fit on context and place in the order."""
    import numpy as np

    x = np.asarray([cell.context_tokens for cell in measured])
    y = np.asarray([cell.step_ms for cell in measured])
    straight = fit(measured)
    fitted = straight.intercept_ms.value + straight.slope_ms_per_token.value * x
    place = np.linspace(-0.5, 0.5, len(y))
    # Everything over the fitted step: weights, and an order's effect that is a share.
    design = np.stack([1 / fitted, x / x.max() / fitted, place], axis=1)
    found = np.linalg.lstsq(design, y / fitted, rcond=None)[0]
    rest = y / fitted - design @ found
    degrees = len(y) - 3
    inverse = np.linalg.pinv(design.T @ design)
    error = math.sqrt(max(float(rest @ rest) / degrees * float(inverse[2, 2]), 1e-24))
    return float(found[2]), t_tail(float(found[2]) / error, degrees)
