"""Were the GPUs' clocks the same for everything that is compared?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from console.schema.cells import Arm, Cell

# Decode speed follows the clock nearly one to one, so a rate is compared under clocks this near to each other only.
SHARE = 0.01


def clocks_of(arms: Sequence[Arm]) -> list[float]:
    """MHz in the middle of each answer that counts, where the host told."""
    return [arm.sm_mhz for arm in arms if not arm.refused and arm.sm_mhz is not None]


def moved(arms: Sequence[Arm]) -> tuple[str, ...]:
    """A mark where the clock was another one in some pairs of a cell."""
    seen = clocks_of(arms)
    if len(seen) < 2 or max(seen) <= (1 + SHARE) * min(seen):
        return ()
    return (f"clocks differ: {min(seen):.0f} to {max(seen):.0f} MHz",)


def odd_cells(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Cells of a sweep that were measured under another clock than most."""
    known = [(cell, median(seen)) for cell in cells if (seen := clocks_of(cell.arms))]
    if len(known) < 3:
        return ()
    usual = median(mhz for _, mhz in known)
    return tuple(
        f"clock-confounded: {cell.name} ran at {mhz:.0f} MHz, the others at {usual:.0f}"
        for cell, mhz in known
        if abs(mhz / usual - 1) > SHARE
    )
