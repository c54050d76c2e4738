"""Whether several estimators of one figure agree, and which one does not.

::

    agreement(estimates, *, within=0.02) -> Agreement(agree, spread, odd, compared)
        estimates: name → Estimate
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from console.analysis.statistics.estimate import Estimate


@dataclass(frozen=True)
class Agreement:
    """`spread`: largest over smallest value, less one. `odd`: the one far from the others, where three or more tell."""

    agree: bool
    spread: float
    odd: str
    compared: tuple[str, ...]


def agreement(estimates: Mapping[str, Estimate], *, within: float = 0.02) -> Agreement:
    """Two agree when they are within `within` of each other, or each value lies in the other's interval.

    Estimates without a value (nan) are not compared; with fewer than two left there is nothing to disagree.
    """
    known = {name: item for name, item in estimates.items() if math.isfinite(item.value) and item.value > 0}
    names = tuple(known)
    if len(names) < 2:
        return Agreement(True, 0.0, "", names)
    values = {name: item.value for name, item in known.items()}
    spread = max(values.values()) / min(values.values()) - 1
    against = {
        name: sum(not near(known[name], known[other], within) for other in names if other != name) for name in names
    }
    agree = not any(against.values())
    odd = ""
    if not agree and len(names) > 2:
        middle = median(values.values())
        odd = max(names, key=lambda name: (against[name], abs(values[name] / middle - 1)))
    return Agreement(agree, spread, odd, names)


def near(a: Estimate, b: Estimate, within: float) -> bool:
    return abs(math.log(a.value / b.value)) <= math.log1p(within) or (a.covers(b.value) and b.covers(a.value))
