"""A splice replaces bytes at one place of a file; the edits of a plan are lists of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, NonNegativeInt, PlainSerializer


def _from_text(value: object) -> object:
    return value.encode("latin-1") if isinstance(value, str) else value


# Latin-1 maps every byte to one character and back, so plan.json stays readable (and maskable) and loses nothing.
Octets = Annotated[
    bytes,
    BeforeValidator(_from_text),
    PlainSerializer(lambda data: data.decode("latin-1"), return_type=str, when_used="json"),
]


class Splice(BaseModel):
    """Where `old` stands at byte `start`, `new` is to stand. An insertion has an empty `old`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: NonNegativeInt
    old: Octets
    new: Octets

    @property
    def end(self) -> int:
        return self.start + len(self.old)


def apply(data: bytes, splices: Iterable[Splice]) -> bytes:
    """`data` with the splices made. Offsets are those of `data`; splices stand in order and do not overlap.

    Raises ValueError where `old` does not stand at `start`, or where the order is wrong.
    """
    pieces: list[bytes] = []
    done = 0
    for splice in splices:
        if splice.start < done:
            raise ValueError(f"the splice at byte {splice.start} overlaps the one before it, which ends at {done}")
        if data[splice.start : splice.end] != splice.old or splice.end > len(data):
            raise ValueError(f"byte {splice.start} does not hold what the splice was made for")
        pieces += [data[done : splice.start], splice.new]
        done = splice.end
    pieces.append(data[done:])
    return b"".join(pieces)


def inverse(splices: Iterable[Splice]) -> tuple[Splice, ...]:
    """The splices that lead back: `apply(apply(data, s), inverse(s)) == data`."""
    back: list[Splice] = []
    shift = 0
    for splice in splices:
        back.append(Splice(start=splice.start + shift, old=splice.new, new=splice.old))
        shift += len(splice.new) - len(splice.old)
    return tuple(back)


def compose(before: bytes, first: Sequence[Splice], second: Sequence[Splice]) -> tuple[Splice, ...]:
    """One list on `before` that does what `first`, and then `second` on its result, would do.

    Splices that touch are joined and those that change nothing are left out. Raises ValueError as `apply` does.
    """
    after = apply(apply(before, first), second)
    # Kept: runs of `before` that survive both, as (start in before, start in after, length).
    kept = _kept_through(_kept(len(before), first), _kept(len(before) + _growth(first), second))
    joined: list[Splice] = []
    done_before = done_after = 0
    for start_before, start_after, length in [*kept, (len(before), len(after), 0)]:
        old, new = before[done_before:start_before], after[done_after:start_after]
        if old != new:
            joined.append(Splice(start=done_before, old=old, new=new))
        done_before, done_after = start_before + length, start_after + length
    return tuple(joined)


def _growth(splices: Iterable[Splice]) -> int:
    return sum(len(splice.new) - len(splice.old) for splice in splices)


def _kept(size: int, splices: Iterable[Splice]) -> list[tuple[int, int, int]]:
    """The runs that splices leave alone in `size` bytes: (start before, start after, length)."""
    runs: list[tuple[int, int, int]] = []
    done = shift = 0
    for splice in splices:
        if splice.start > done:
            runs.append((done, done + shift, splice.start - done))
        done = splice.end
        shift += len(splice.new) - len(splice.old)
    if size > done:
        runs.append((done, done + shift, size - done))
    return runs


def _kept_through(
    first: Sequence[tuple[int, int, int]], second: Sequence[tuple[int, int, int]]
) -> list[tuple[int, int, int]]:
    """The runs that survive both: the middle's intervals intersected. Both lists are in order."""
    runs: list[tuple[int, int, int]] = []
    i = j = 0
    while i < len(first) and j < len(second):
        before, middle, length = first[i]
        middle_too, after, length_too = second[j]
        low, high = max(middle, middle_too), min(middle + length, middle_too + length_too)
        if low < high:
            runs.append((before + low - middle, after + low - middle_too, high - low))
        if middle + length <= middle_too + length_too:
            i += 1
        else:
            j += 1
    return runs
