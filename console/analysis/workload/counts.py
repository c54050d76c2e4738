"""How often each whole number came: the quantiles of the sorted list, in memory that does not grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from console.analysis.workload.batch import Ints

# Numbers up to here have a place of their own; the rare larger ones stand in a dict.
DENSE = 1 << 20


@dataclass
class Counts:
    """Counts of numbers from 0 on, exact."""

    dense: Any = None
    sparse: dict[int, int] = field(default_factory=dict)
    n: int = 0
    total: int = 0

    def add(self, values: Ints) -> None:
        import numpy as np

        if not len(values):
            return
        self.n += len(values)
        self.total += int(values.sum())
        if values.max() >= DENSE:
            large = values[values >= DENSE]
            for value, count in zip(*np.unique(large, return_counts=True), strict=True):
                self.sparse[int(value)] = self.sparse.get(int(value), 0) + int(count)
            values = values[values < DENSE]
            if not len(values):
                return
        found = np.bincount(values)
        if self.dense is None:
            self.dense = found
        elif len(found) > len(self.dense):
            found[: len(self.dense)] += self.dense
            self.dense = found
        else:
            self.dense[: len(found)] += found

    def merge(self, other: Counts) -> None:
        import numpy as np

        if other.dense is not None:
            if self.dense is None or len(self.dense) < len(other.dense):
                wider = np.zeros(len(other.dense), dtype=np.int64)
                if self.dense is not None:
                    wider[: len(self.dense)] = self.dense
                self.dense = wider
            self.dense[: len(other.dense)] += other.dense
        for value, count in other.sparse.items():
            self.sparse[value] = self.sparse.get(value, 0) + count
        self.n += other.n
        self.total += other.total

    @property
    def mean(self) -> float:
        return self.total / self.n if self.n else 0.0

    def table(self) -> tuple[Any, Any]:
        """The numbers that came, ascending, and how often each."""
        import numpy as np

        values = np.flatnonzero(self.dense) if self.dense is not None else np.empty(0, dtype=np.int64)
        counts = self.dense[values] if self.dense is not None else values
        if self.sparse:
            more = sorted(self.sparse)
            values = np.concatenate([values, np.array(more, dtype=np.int64)])
            counts = np.concatenate([counts, np.array([self.sparse[one] for one in more], dtype=np.int64)])
        return values, counts

    def quantiles(self, shares: tuple[float, ...]) -> list[float]:
        """Linear between order statistics, as of the sorted list. Raises ValueError without values."""
        import numpy as np

        if not self.n:
            raise ValueError("no values")
        values, counts = self.table()
        ends = np.cumsum(counts)
        found = []
        for share in shares:
            place = share * (self.n - 1)
            below = int(place)
            low, high = (
                values[np.searchsorted(ends, index, side="right")] for index in (below, min(below + 1, self.n - 1))
            )
            found.append(float(low + (place - below) * (high - low)))
        return found


@dataclass
class Spans:
    """Times as counts of microseconds, up to a thousandth of themselves exact: as HdrHistogram keeps them.

    Source: Tene, HdrHistogram; 11 bits of each number count. `total_s` and `squares` are exact.
    """

    counts: Counts = field(default_factory=Counts)
    total_s: float = 0.0
    squares: float = 0.0
    zeros: int = 0

    def add(self, spans_us: Ints) -> None:
        import numpy as np

        if not len(spans_us):
            return
        seconds = spans_us / 1e6
        self.total_s += float(seconds.sum())
        self.squares += float((seconds * seconds).sum())
        self.zeros += int((spans_us == 0).sum())
        # Slot: position of the highest bit above the tenth, then the eleven bits from it on.
        shift = np.maximum(0, np.frexp(spans_us.astype(np.float64))[1] - BITS)
        self.counts.add((shift.astype(np.int64) << BITS) + (spans_us >> shift))

    def merge(self, other: Spans) -> None:
        self.counts.merge(other.counts)
        self.total_s += other.total_s
        self.squares += other.squares
        self.zeros += other.zeros

    @property
    def n(self) -> int:
        return self.counts.n

    @property
    def mean_s(self) -> float:
        return self.total_s / self.n if self.n else 0.0

    @property
    def variation(self) -> float:
        """Standard deviation as a share of the mean: 1 for arrivals by chance (Poisson)."""
        if self.n < 2 or not self.total_s:
            return 0.0
        variance = max(0.0, self.squares / self.n - self.mean_s**2)
        return float(variance**0.5 / self.mean_s)

    def quantiles_s(self, shares: tuple[float, ...]) -> list[float]:
        """By rank, without interpolating: the value a thousandth around is what is known."""
        import numpy as np

        slots, counts = self.counts.table()
        ends = np.cumsum(counts)
        found = []
        for share in shares:
            slot = int(slots[np.searchsorted(ends, int(share * (self.n - 1)), side="right")])
            shift, low = slot >> BITS, slot & ((1 << BITS) - 1)
            found.append(((low << shift) + (((1 << shift) - 1) / 2 if shift else 0)) / 1e6)
        return found


BITS = 11
