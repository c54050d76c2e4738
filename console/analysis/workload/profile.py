"""The shape of a workload: batches of a trace folded one after the other into what `console workload profile` shows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from console.analysis.workload.arrivals import Arrivals
from console.analysis.workload.batch import Batch, Complaints
from console.analysis.workload.concurrency import Concurrency
from console.analysis.workload.counts import Counts, Spans
from console.analysis.workload.prefixes import Prefixes
from console.analysis.workload.sessions import Sessions
from console.schema.workload import Distribution, Heat, PrefixReuse, WorkloadProfile

SHARES = (0.5, 0.9, 0.95, 0.99)
HEAT_BINS = 24  # powers of two: the last holds everything from 2^23 tokens on
MOST_IDS = 50_000


@dataclass
class Profile:
    """Add batches in the order of the trace, then `result()` once. Memory does not grow with the trace."""

    block_tokens: int = 0
    input: Counts = field(default_factory=Counts)
    output: Counts = field(default_factory=Counts)
    cached: Counts = field(default_factory=Counts)
    cached_of: int = 0
    latency: Spans = field(default_factory=Spans)
    arrivals: Arrivals = field(default_factory=Arrivals)
    concurrency: Concurrency = field(default_factory=Concurrency)
    sessions: Sessions = field(default_factory=Sessions)
    prefixes: Prefixes | None = None
    heat: Any = None
    lines: int = 0
    failed: int = 0
    others: int = 0
    bad: Complaints = field(default_factory=Complaints)
    told: Complaints = field(default_factory=Complaints)
    ids: OrderedDict[int, None] = field(default_factory=OrderedDict)

    def add(self, batch: Batch) -> None:
        self.count(batch)
        batch = self.once(batch)
        if not len(batch):
            return
        self.input.add(batch.input)
        self.output.add(batch.output)
        self._add_heat(batch)
        self.arrivals.add(batch)
        if batch.cached is not None:
            known = batch.cached >= 0
            self.cached.add(batch.cached[known])
            self.cached_of += int(batch.input[known].sum())
        if batch.ended_us is not None:
            ended = batch.ended_us >= 0
            self.latency.add((batch.ended_us - batch.at_us)[ended])
            self.concurrency.add(batch.at_us, batch.ended_us)
        if batch.session is not None or batch.parent is not None:
            self.sessions.add(batch)
        if batch.blocks is not None:
            if self.prefixes is None:
                self.prefixes = Prefixes(self.block_tokens)
            self.prefixes.add(batch)

    def count(self, batch: Batch) -> None:
        """Lines, and what was wrong with them."""
        self.lines += batch.lines
        self.failed += batch.failed
        self.others += batch.others
        self.bad.merge(batch.bad)
        self.told.merge(batch.told)

    def once(self, batch: Batch) -> Batch:
        """Without requests whose id came before: a log that was read twice, or rotated with an overlap."""
        if batch.ident is None:
            return batch
        import numpy as np

        keep = np.ones(len(batch), dtype=bool)
        for index, ident in enumerate(batch.ident.tolist()):
            if ident and ident in self.ids:
                keep[index] = False
                self.told.add("the id of an earlier request, left out", batch.line_of(index))
            elif ident:
                self.ids[ident] = None
                if len(self.ids) > MOST_IDS:
                    self.ids.popitem(last=False)
        return batch if keep.all() else taken(batch, keep)

    def _add_heat(self, batch: Batch) -> None:
        import numpy as np

        rows, columns = (np.minimum(HEAT_BINS - 1, np.frexp(one)[1]) for one in (batch.input, batch.output))
        found = np.bincount(rows.astype(np.int64) * HEAT_BINS + columns, minlength=HEAT_BINS * HEAT_BINS)
        self.heat = found if self.heat is None else self.heat + found

    def result(self, *, files: Sequence[str] = (), kind: str = "") -> WorkloadProfile:
        """What it has come to. Raises ValueError when there was no request at all."""
        if not self.input.n:
            raise ValueError("no request in the trace")
        self.arrivals.finish()
        self.concurrency.finish()
        self.sessions.finish()
        self.told.merge(self.arrivals.unsorted)
        span_s = self.arrivals.span_s
        step_s = self.arrivals.step_s()
        turns = self.sessions.turns
        return WorkloadProfile(
            files=tuple(files),
            kind=kind,
            lines=self.lines,
            requests=self.input.n,
            failed=self.failed,
            other_lines=self.others,
            span_s=span_s,
            per_s=self.input.n / span_s if span_s else None,
            input_tokens=of_counts(self.input),
            output_tokens=of_counts(self.output),
            ratio=self.input.total / self.output.total if self.output.total else None,
            gap_s=None if not self.arrivals.gaps.n else of_spans(self.arrivals.gaps),
            gap_variation=self.arrivals.gaps.variation if self.arrivals.gaps.n > 1 and step_s is None else None,
            clock_step_s=step_s,
            latency_s=of_spans(self.latency) if self.latency.n else None,
            at_once=self._at_once(),
            sessions=self.sessions.n,
            turns=of_counts(turns) if turns.n else None,
            sessions_at_once=of_counts(self.sessions.at_once()) if turns.n else None,
            reuse=self._reuse(),
            cached_share=self.cached.total / self.cached_of if self.cached_of else None,
            heat=self._heat(),
            bad=tuple(self.bad.sentences()),
            bad_lines=self.bad.total,
            told=tuple(self.told.sentences()) + self._limits(),
        )

    def _at_once(self) -> Distribution | None:
        if not self.concurrency.spent_us:
            return None
        at = self.concurrency
        figures = [float(at.quantile(share)) for share in SHARES]
        return Distribution(
            n=at.n, mean=at.mean, p50=figures[0], p90=figures[1], p95=figures[2], p99=figures[3], most=max(at.spent_us)
        )

    def _reuse(self) -> PrefixReuse | None:
        if self.prefixes is None or self.prefixes.share is None:
            return None
        found = self.prefixes
        common = found.common_blocks()
        exact = found.exact_requests
        return PrefixReuse(
            block_tokens=self.block_tokens,
            share=found.share or 0.0,
            share_without_common=found.share_without_common,
            common_blocks=len(common),
            any_share=found.any_hit / exact if exact else None,
            by_share=tuple(int(one) for one in found.shares) if found.shares is not None else (),
            exact_requests=exact,
            blocks_sampled=found.rate,
        )

    def _heat(self) -> Heat:
        grid = self.heat.reshape(HEAT_BINS, HEAT_BINS)
        rows = [index for index in range(HEAT_BINS) if grid[index].any()]
        columns = [index for index in range(HEAT_BINS) if grid[:, index].any()]
        inputs = range(rows[0], rows[-1] + 1)
        outputs = range(columns[0], columns[-1] + 1)
        return Heat(
            input_from=tuple(0 if one == 0 else 1 << (one - 1) for one in inputs),
            output_from=tuple(0 if one == 0 else 1 << (one - 1) for one in outputs),
            requests=tuple(tuple(int(grid[row, column]) for column in outputs) for row in inputs),
        )

    def _limits(self) -> tuple[str, ...]:
        """What was counted less than exactly, and why."""
        said = []
        if self.arrivals.late:
            said.append(f"{self.arrivals.late:,} requests came too far out of order to have a gap")
        if self.concurrency.late:
            said.append(f"{self.concurrency.late:,} requests came too far out of order for their whole concurrency")
        if self.sessions.closed_early:
            said.append(f"{self.sessions.closed_early:,} sessions were closed early: too many open at once to follow")
        if self.prefixes is not None and self.prefixes.rate < 1:
            said.append(
                f"prefix reuse beyond the first {self.prefixes.exact_requests:,} requests is of "
                f"1 in {1 / self.prefixes.rate:.0f} blocks, chosen by hash"
            )
        return tuple(said)


def taken(batch: Batch, keep: Any) -> Batch:
    """The requests of a batch for which `keep` is true."""
    import numpy as np

    lines = batch.line if batch.line is not None else batch.first_line + np.arange(len(batch))
    blocks, counts = batch.blocks, batch.blocks_n
    if blocks is not None and counts is not None:
        blocks, counts = blocks[np.repeat(keep, counts)], counts[keep]
    rest: dict[str, Any] = {
        name: None if (column := getattr(batch, name)) is None else column[keep]
        for name in ("ended_us", "cached", "session", "turn", "ident", "parent")
    }
    return Batch(
        batch.lines,
        batch.at_us[keep],
        batch.input[keep],
        batch.output[keep],
        line=lines[keep],
        first_line=batch.first_line,
        blocks=blocks,
        blocks_n=counts,
        **rest,
    )


def of_counts(counts: Counts) -> Distribution:
    values, _ = counts.table()
    p50, p90, p95, p99 = counts.quantiles(SHARES)
    return Distribution(n=counts.n, mean=counts.mean, p50=p50, p90=p90, p95=p95, p99=p99, most=float(values[-1]))


def of_spans(spans: Spans) -> Distribution:
    p50, p90, p95, p99, most = spans.quantiles_s((*SHARES, 1.0))
    return Distribution(n=spans.n, mean=spans.mean_s, p50=p50, p90=p90, p95=p95, p99=p99, most=most)
