"""Which targets of a fleet run go together, and when no further one is begun."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from console.errors import InvalidFileError

_SHARE = re.compile(r"(\d{1,3})%")


def share(wave: int | str, count: int) -> int:
    """How many of `count` targets a wave takes: a number, or a percentage of all of them, rounded up.

    Raises ValueError for what is neither.
    """
    if isinstance(wave, int) and not isinstance(wave, bool):
        if wave < 1:
            raise ValueError(f"{wave} is no number of targets")
        return wave
    match = _SHARE.fullmatch(str(wave))
    if match is None or not 1 <= int(match[1]) <= 100:
        raise ValueError(f"{wave!r} is neither a number of targets nor a percentage from 1% to 100%")
    return max(1, ceil(Fraction(int(match[1]), 100) * count))


def sizes(waves: Sequence[int | str], count: int) -> list[int]:
    """The size of each wave, in order, for `count` targets; they add up to `count`.

    The last one is repeated until every target had its turn; none at all: one target after the other.
    """
    asked = [share(wave, count) for wave in waves] or [1]
    found: list[int] = []
    left = count
    while left:
        size = min(asked[min(len(found), len(asked) - 1)], left)
        found.append(size)
        left -= size
    return found


def check(waves: Sequence[int | str], path: str) -> None:
    """Raise InvalidFileError for a wave that says nothing."""
    for wave in waves:
        try:
            share(wave, 100)
        except ValueError as error:
            raise InvalidFileError(
                f"waves: {error}", where=path, hint='for example waves = [1, "25%", "100%"]'
            ) from None


@dataclass
class StopRule:
    """One rule over the whole run, whatever the wave: after so many targets that did not end well none is begun.

    Those under way go on to their end. A target that is not begun is not-started, and that is exactly the rest.
    """

    stop_after: int = 1
    bad: int = 0

    def ended(self, *, well: bool) -> None:
        self.bad += not well

    @property
    def stopped(self) -> bool:
        return self.bad >= self.stop_after
