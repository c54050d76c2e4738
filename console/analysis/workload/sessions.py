"""Conversations in a trace: turns of each, and how many were open at once."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.analysis.workload.counts import Counts

if TYPE_CHECKING:
    from console.analysis.workload.batch import Batch

# A session without a request for so long is over; a later request of it is another session.
IDLE_US = 1_800_000_000
MINUTE_US = 60_000_000
MOST_SESSIONS = 100_000


@dataclass
class Sessions:
    """Sessions by hash: each open from its first request to its last, counted by minute.

    At most MOST_SESSIONS are followed at once; beyond, the one that was silent longest is closed early and counted.
    """

    most: int = MOST_SESSIONS
    open: OrderedDict[int, list[int]] = field(default_factory=OrderedDict)  # hash → first, last, turns
    roots: OrderedDict[int, int] = field(default_factory=OrderedDict)  # id of a turn → id of its first one
    turns: Counts = field(default_factory=Counts)
    minutes: dict[int, int] = field(default_factory=dict)
    closed_early: int = 0
    without: int = 0
    n: int = 0

    def add(self, batch: Batch) -> None:
        keys = self._keys(batch)
        if keys is None:
            return
        for key, at in zip(keys, batch.at_us.tolist(), strict=True):
            if not key:
                self.without += 1
                continue
            one = self.open.get(key)
            if one is not None and at - one[1] > IDLE_US:
                self._close(key)
                one = None
            if one is None:
                self.n += 1
                self.open[key] = [at, at, 1]
                if len(self.open) > self.most:
                    oldest = next(iter(self.open))
                    self.closed_early += at - self.open[oldest][1] <= IDLE_US
                    self._close(oldest)
            else:
                one[0], one[1], one[2] = min(one[0], at), max(one[1], at), one[2] + 1
                self.open.move_to_end(key)

    def _keys(self, batch: Batch) -> list[int] | None:
        if batch.session is not None:
            found: list[int] = batch.session.tolist()
            return found
        if batch.parent is None or batch.ident is None:
            return None
        keys = []
        for own, parent in zip(batch.ident.tolist(), batch.parent.tolist(), strict=True):
            root = self.roots.get(parent, parent) if parent else own
            self.roots[own] = root
            if len(self.roots) > 4 * self.most:
                self.roots.popitem(last=False)
            keys.append(root)
        return keys

    def _close(self, key: int) -> None:
        import numpy as np

        first, last, turns = self.open.pop(key)
        self.turns.add(np.array([turns], dtype=np.int64))
        begin, end = first // MINUTE_US, last // MINUTE_US + 1
        self.minutes[begin] = self.minutes.get(begin, 0) + 1
        self.minutes[end] = self.minutes.get(end, 0) - 1

    def finish(self) -> None:
        for key in list(self.open):
            self._close(key)

    def at_once(self) -> Counts:
        """Sessions open in each minute of the trace."""
        import numpy as np

        counts = Counts()
        running, before = 0, None
        for minute in sorted(self.minutes):
            if before is not None:
                # A pause of years between two files is one step, not a minute each.
                counts.add(np.full(min(minute - before, 1_000_000), running, dtype=np.int64))
            running += self.minutes[minute]
            before = minute
        return counts
