"""When Python looks for garbage: often and little, so that no key waits for it, and thoroughly when nobody types."""

from __future__ import annotations

import gc

# Of so many objects a collection takes 2 ms, one of the next generation 10; the thorough one is not left to chance.
YOUNG, MIDDLE, NEVER = 2_000, 5, 1_000_000
# A thorough collection so often, and only when no key came for so long.
THOROUGH_S, SILENT_S = 60.0, 2.0


def little_by_little() -> None:
    """For a program that has loaded what it needs: that stays, and is not looked through again."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, NEVER)


def thorough() -> None:
    """Screens that were left, and whatever else only refers to itself."""
    gc.collect()
