"""Do estimates of one figure by different ways of measuring agree?

::

    agree(one, other, *, share=0.03) -> bool | None       None: it cannot be told
    agreement(estimates, *, share=0.03) -> bool | None    of every two of them
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from console.analysis.statistics.estimate import Estimate

SHARE = 0.03


def agree(one: Estimate, other: Estimate, *, share: float = SHARE) -> bool | None:
    """Within `share` of each other, or one inside the other's interval.

    An interval that is open on a side (a single pair's) holds anything, so where neither is closed and the values are
    further apart, nothing can be told.
    """
    if abs(one.value / other.value - 1) <= share:
        return True
    closed = [
        held
        for held, value in ((one, other.value), (other, one.value))
        if math.isfinite(held.low) and math.isfinite(held.high) and not held.covers(value)
    ]
    if len(closed) == 2:
        return False
    known = [held for held in (one, other) if math.isfinite(held.low) and math.isfinite(held.high)]
    if not known:
        return None
    return len(closed) < len(known)


def agreement(estimates: Sequence[Estimate], *, share: float = SHARE) -> bool | None:
    """False when any two differ; None below two estimates, or where no two can be told apart."""
    found = [agree(one, other, share=share) for one, other in combinations(estimates, 2)]
    if False in found:
        return False
    return True if True in found else None
