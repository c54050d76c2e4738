"""When a freshly started server has warmed up, from the durations of equal requests.

::

    warm_up(values) -> WarmUp(discard, steady, more)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from console.analysis.statistics.estimate import numbers

WINDOW = 4
MOST = 10
MAD_WIDTHS = 3 * 1.4826
# Timers and counts are no finer: durations this near to each other are the same.
FLOOR = 0.005
STILL_FALLING = 0.02


@dataclass(frozen=True)
class WarmUp:
    """The first `discard` requests are not measured with. `more`: another request would help to tell."""

    discard: int
    steady: bool
    more: bool


def warm_up(values: Sequence[float], *, most: int = MOST) -> WarmUp:
    """Judge requests of one shape since a restart, in order; the first is always discarded.

    Steady are four in a row, each within 3·1.4826·MAD of their median and not falling all along by more than 2 %.
    After `most` requests it is given up: all but the last four are discarded, and `steady` is False.
    """
    found = numbers(values, "warm-up", 0)
    for first in range(1, min(len(found), most) - WINDOW + 1):
        if settled(found[first : first + WINDOW]):
            return WarmUp(first, True, False)
    if len(found) >= most:
        return WarmUp(len(found) - WINDOW, False, False)
    return WarmUp(min(1, len(found)), False, True)


def settled(window: Sequence[float]) -> bool:
    middle = median(window)
    width = max(MAD_WIDTHS * median(abs(value - middle) for value in window), FLOOR * abs(middle))
    falling = all(b < a for a, b in pairwise(window))
    if falling and window[0] - window[-1] > STILL_FALLING * abs(middle):
        return False
    return all(abs(value - middle) <= width for value in window)
