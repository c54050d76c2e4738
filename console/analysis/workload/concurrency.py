"""How many requests were at work at once, weighted by time, from when each began and ended."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.analysis.workload.batch import Ints


@dataclass
class Concurrency:
    """Time spent at each number of requests at once; spans are half open, an end at a start's moment comes first.

    Logs are written when requests end, so that starts come unsorted: `most` requests are held back to put them in
    order; what comes too late even for that counts from where we are, and in `late`.
    """

    most: int = 200_000
    waiting: list[tuple[int, int]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    spent_us: dict[int, int] = field(default_factory=dict)
    now_us: int | None = None
    late: int = 0
    n: int = 0

    def add(self, begins: Ints, ends: Ints) -> None:
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            if end < 0:
                continue
            self.n += 1
            heapq.heappush(self.waiting, (begin, end))
            if len(self.waiting) > self.most:
                self._take()

    def finish(self) -> None:
        while self.waiting:
            self._take()
        while self.ends:
            self._until(self.ends[0])

    def _take(self) -> None:
        begin, end = heapq.heappop(self.waiting)
        if self.now_us is not None and begin < self.now_us:
            self.late += 1
            begin = self.now_us
        self._until(begin)
        if end > begin:
            heapq.heappush(self.ends, end)

    def _until(self, moment: int) -> None:
        while self.ends and self.ends[0] <= moment:
            end = heapq.heappop(self.ends)
            self._spend(end, len(self.ends) + 1)
        self._spend(moment, len(self.ends))

    def _spend(self, moment: int, at_once: int) -> None:
        if self.now_us is not None and moment > self.now_us:
            self.spent_us[at_once] = self.spent_us.get(at_once, 0) + moment - self.now_us
        self.now_us = moment if self.now_us is None else max(self.now_us, moment)

    def quantile(self, share: float) -> int:
        """The number of requests at once that was not exceeded in this share of the time. 0 without any."""
        total = sum(self.spent_us.values())
        spent = 0
        for at_once in sorted(self.spent_us):
            spent += self.spent_us[at_once]
            if spent >= share * total:
                return at_once
        return 0

    @property
    def mean(self) -> float:
        total = sum(self.spent_us.values())
        return sum(n * spent for n, spent in self.spent_us.items()) / total if total else 0.0
