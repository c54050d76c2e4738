"""When requests came: gaps between them, and whether the trace's clock was too coarse to tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from console.analysis.workload.batch import Complaints
from console.analysis.workload.counts import BITS, Spans

if TYPE_CHECKING:
    from console.analysis.workload.batch import Batch

# So many moments are held back and sorted, for files whose lines are a little out of order.
HELD = 1 << 16
# A clock is called coarse when more than half of all requests share their moment with the one before, and nearly all
# other gaps are multiples of one step.
SHARED = 0.5
ON_GRID = 0.95


@dataclass
class Arrivals:
    """Gaps in order of time. `late` came before what was already counted, and has no gap."""

    gaps: Spans = field(default_factory=Spans)
    held: Any = None
    watermark_us: int | None = None
    first_us: int | None = None
    last_us: int | None = None
    late: int = 0
    unsorted: Complaints = field(default_factory=Complaints)
    _before_us: int | None = None

    def add(self, batch: Batch) -> None:
        import numpy as np

        if not len(batch):
            return
        at = batch.at_us
        steps = np.diff(at, prepend=at[0] if self._before_us is None else self._before_us)
        for index in np.flatnonzero(steps < 0)[:3].tolist():
            self.unsorted.add("earlier than the line before", batch.line_of(index))
        more = int((steps < 0).sum()) - min(3, int((steps < 0).sum()))
        if more:
            self.unsorted.counts["earlier than the line before"] += more
        self._before_us = int(at[-1])
        low, high = int(at.min()), int(at.max())
        self.first_us = low if self.first_us is None else min(self.first_us, low)
        self.last_us = high if self.last_us is None else max(self.last_us, high)
        everything = at if self.held is None else np.concatenate([self.held, at])
        if self.held is None or (steps < 0).any():
            everything = np.sort(everything)
        self._count(everything[:-HELD])
        self.held = everything[-HELD:]

    def finish(self) -> None:
        if self.held is not None:
            self._count(self.held)
            self.held = None

    def _count(self, ordered: Any) -> None:
        import numpy as np

        if self.watermark_us is not None:
            fresh = ordered[ordered >= self.watermark_us]
            self.late += len(ordered) - len(fresh)
            ordered = fresh
        if not len(ordered):
            return
        if self.watermark_us is None:
            self.gaps.add(np.diff(ordered))
        else:
            self.gaps.add(np.diff(ordered, prepend=self.watermark_us))
        self.watermark_us = int(ordered[-1])

    @property
    def span_s(self) -> float:
        return 0.0 if self.first_us is None or self.last_us is None else (self.last_us - self.first_us) / 1e6

    def step_s(self) -> float | None:
        """The step of a clock that is too coarse for gaps to mean anything; None where it is fine enough."""
        import numpy as np

        if self.gaps.n < 10 or self.gaps.zeros <= SHARED * self.gaps.n:
            return None
        slots, counts = self.gaps.counts.table()
        slots, counts = slots[slots > 0], counts[slots > 0]
        if not len(slots):
            return None
        shift = slots >> BITS
        gaps = (slots & ((1 << BITS) - 1)) * (2.0**shift)
        step = float(gaps[np.searchsorted(np.cumsum(counts), 0.1 * counts.sum())])
        off = np.abs(gaps / step - np.rint(gaps / step))
        return step / 1e6 if counts[off <= 0.02].sum() >= ON_GRID * counts.sum() else None
