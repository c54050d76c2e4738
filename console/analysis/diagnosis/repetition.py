"""A text that repeats itself: the drafter guesses all of it, and acceptance says nothing of the user's text."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from console.analysis.diagnosis.window import Window

# A loop lasts: three windows of one request on end (about 120 steps), each near the ceiling.
LEAST_WINDOWS = 3
NEAR_CEILING = 0.9
ABOVE_USUAL = 1.5


def in_loops(windows: Sequence[Window], ceiling: float | None = None) -> list[bool]:
    """Which windows of one replica, in order, lie in a loop.

    Near the ceiling is 90 % of `ceiling`, or of the highest acceptance seen where that is not known; and half as much
    again as the median, so that a drafter that is always right is no loop.
    """
    if not windows:
        return []
    accepts = [one.accept_length for one in windows]
    top = ceiling or max(accepts)
    bound = max(NEAR_CEILING * top, ABOVE_USUAL * median(accepts))
    marked = [False] * len(windows)
    begin = 0
    for index in range(len(windows) + 1):
        if index < len(windows) and accepts[index] >= bound:
            continue
        if index - begin >= LEAST_WINDOWS:
            marked[begin:index] = [True] * (index - begin)
        begin = index + 1
    return marked
