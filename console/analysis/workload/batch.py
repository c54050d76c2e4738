"""A piece of a trace as columns of numbers, which every figure is made from. No text of it is kept."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
else:
    Ints = Any

# Above these a length is a mistake of whoever wrote the trace, and no request.
LONGEST_TOKENS = 10_000_000
KEPT_LINES = 3


@dataclass
class Complaints:
    """What is wrong with a trace, by kind: how often, and the first lines."""

    counts: dict[str, int] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)

    def add(self, kind: str, line: int, times: int = 1) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + times
        kept = self.lines.setdefault(kind, [])
        if len(kept) < KEPT_LINES:
            kept.append(line)

    def merge(self, other: Complaints) -> None:
        for kind, count in other.counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + count
            self.lines[kind] = (self.lines.get(kind, []) + other.lines[kind])[:KEPT_LINES]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def sentences(self) -> list[str]:
        """`12 lines: no column x (line 3, 7, 9 …)`, the most frequent first."""
        told = []
        for kind, count in sorted(self.counts.items(), key=lambda one: -one[1]):
            first = ", ".join(str(line) for line in self.lines[kind])
            more = " …" if count > len(self.lines[kind]) else ""
            told.append(f"{count:,} line{'s' if count > 1 else ''}: {kind} (line {first}{more})")
        return told


@dataclass
class Batch:
    """Requests in the order of the file; arrays of int64, all as long as `at_us`.

    `ended_us` and `cached` are -1 where the trace does not say; `session`, `ident`, `parent` are hashes (0: none).
    `blocks` are the prefix hashes of all requests one behind the other, `blocks_n` how many each has; both empty where
    the kind of trace has none. `bad` counts as no request, `told` is only said.
    """

    lines: int
    at_us: Ints
    input: Ints
    output: Ints
    line: Ints | None = None  # None: every line of the piece, in order, from `first_line`
    first_line: int = 1
    ended_us: Ints | None = None
    cached: Ints | None = None
    session: Ints | None = None
    turn: Ints | None = None
    ident: Ints | None = None
    parent: Ints | None = None
    blocks: Ints | None = None
    blocks_n: Ints | None = None
    failed: int = 0
    others: int = 0
    bad: Complaints = field(default_factory=Complaints)
    told: Complaints = field(default_factory=Complaints)

    def __len__(self) -> int:
        return len(self.at_us)

    def line_of(self, index: int) -> int:
        return self.first_line + index if self.line is None else int(self.line[index])


def hashed(value: object) -> int:
    """63 bits that stand for a session or an id: the value itself is not kept."""
    digest = hashlib.blake2b(str(value).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1 or 1
