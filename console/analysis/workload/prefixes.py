"""Prefix overlap: how much of the prompts an ideal cache, that never forgets, would have had already."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from console.analysis.workload.batch import Batch

# So many blocks are told apart exactly; beyond, a sample of them chosen by hash, halved whenever it grows over this.
MOST_BLOCKS = 1 << 18
# A block that this share of all requests begins with (a system prompt, a template) says nothing of who shares what.
COMMON_SHARE = 0.95
HEAD_REQUESTS = 1000
# Blocks of so many of the first requests are heavy.
HEAVY_SHARE, MOST_HEAVY = 0.002, 1024
MIX = 0x9E3779B97F4A7C15
BINS = 20


@dataclass
class Prefixes:
    """Prefix hits as requests come in: longest run of known blocks from the start × tokens of a block.

    Exact up to MOST_BLOCKS different blocks. Beyond that a fixed share of the blocks, chosen by their hash, stands for
    all, which is unbiased as long as a block's hash stands for all before it, as it does in the traces that have them.
    Source: Waldspurger et al., Efficient MRC construction with SHARDS, FAST 2015.
    """

    block_tokens: int
    most: int = MOST_BLOCKS
    seen: set[int] = field(default_factory=set)
    rate: float = 1.0
    requests: int = 0
    tokens: int = 0
    hit_tokens: float = 0.0
    sampled_tokens: float = 0.0
    any_hit: int = 0
    exact_requests: int = 0
    shares: Any = None  # requests by share of the prompt that was known, in BINS bins
    head: Counter[int] = field(default_factory=Counter)
    common: dict[int, int] | None = None  # candidates for common blocks → requests with it
    heavy: Any = None  # blocks that many requests have: a sample that holds one of them would be all about it
    _may_be_heavy: Any = None

    def add(self, batch: Batch) -> None:
        if batch.blocks is None or batch.blocks_n is None or not len(batch):
            return
        if self.common is None:
            self._head(batch)
        else:
            self._count_common(batch.blocks)
        self.requests += len(batch)
        self.tokens += int(batch.input.sum())
        if self.rate == 1.0 or self.common is None:
            self._exactly(batch)
        else:
            self._sampled(batch)
        while self.common is not None and len(self.seen) > (self.most if self.rate == 1.0 else self.most // 4):
            self.rate /= 8 if self.rate == 1.0 else 2
            self._thin()

    def _thin(self) -> None:
        """Forget the blocks that the sample does not hold any more."""
        import numpy as np

        every = np.fromiter(self.seen, np.int64, len(self.seen))
        self.seen = set(every[self._picked(every)].tolist())

    def _picked(self, blocks: Any) -> Any:
        """Where the blocks of the sample stand, by hash."""
        import numpy as np

        mixed = blocks.view(np.uint64) * np.uint64(MIX)
        return np.flatnonzero(mixed < np.uint64(int(self.rate * (1 << 63)) << 1))

    def _head(self, batch: Batch) -> None:
        """The first requests, whole batches of them, decide which blocks may be common to all."""
        self.head.update(batch.blocks.tolist())  # type: ignore[union-attr]
        if self.requests + len(batch) >= HEAD_REQUESTS:
            self._close_head(self.requests + len(batch))

    def _close_head(self, requests: int) -> None:
        often = [(block, count) for block, count in self.head.most_common(64) if count >= 0.9 * requests]
        import numpy as np

        self.common = dict(often)
        heavy = [block for block, count in self.head.most_common(MOST_HEAVY) if count >= HEAVY_SHARE * requests]
        self.heavy = np.array(sorted(heavy), dtype=np.int64)
        self._may_be_heavy = np.zeros(1 << 16, dtype=bool)
        self._may_be_heavy[self.heavy & 0xFFFF] = True
        self.head = Counter()

    def _count_common(self, flat: Any) -> None:
        for block in self.common or {}:
            self.common[block] += int((flat == block).sum())  # type: ignore[index]

    def _exactly(self, batch: Batch) -> None:
        import numpy as np

        seen, block_tokens = self.seen, self.block_tokens
        flat = batch.blocks.tolist()  # type: ignore[union-attr]
        known = []
        begin = 0
        for count in batch.blocks_n.tolist():  # type: ignore[union-attr]
            blocks = flat[begin : begin + count]
            begin += count
            run = 0
            for block in blocks:
                if block not in seen:
                    break
                run += 1
            known.append(run)
            if run < count:
                seen.update(blocks)
        hits = np.minimum(np.array(known, dtype=np.int64) * block_tokens, batch.input)
        self.any_hit += int((hits > 0).sum())
        self.exact_requests += len(batch)
        self.hit_tokens += float(hits.sum())
        self.sampled_tokens += float(batch.input.sum())
        share = hits / np.maximum(1, batch.input)
        found = np.bincount(np.minimum(BINS - 1, (share * BINS).astype(np.int64)), minlength=BINS)
        self.shares = found if self.shares is None else self.shares + found

    def _sampled(self, batch: Batch) -> None:
        import numpy as np

        flat, counts = batch.blocks, batch.blocks_n
        # Heavy blocks were seen long ago and count as they are; all others by the sample.
        near = np.flatnonzero(self._may_be_heavy[flat & 0xFFFF])  # type: ignore[operator]
        heavy = int(np.isin(flat[near], self.heavy).sum()) * self.block_tokens  # type: ignore[index]
        self.hit_tokens += heavy
        self.sampled_tokens += heavy
        picked = self._picked(flat)
        picked = picked[~np.isin(flat[picked], self.heavy)]  # type: ignore[index]
        # Every block is whole but a request's last, which holds what is left of the prompt.
        ends = np.cumsum(counts)  # type: ignore[arg-type]
        owner = np.searchsorted(ends, picked, side="right")
        rest = batch.input[owner] - (counts[owner] - 1) * self.block_tokens  # type: ignore[index]
        last = picked == ends[owner] - 1
        chosen = np.where(last, np.clip(rest, 0, self.block_tokens), self.block_tokens).tolist()
        seen = self.seen
        hit = 0
        for block, size in zip(flat[picked].tolist(), chosen, strict=True):  # type: ignore[index]
            if block in seen:
                hit += size
            else:
                seen.add(block)
        self.hit_tokens += hit / self.rate
        self.sampled_tokens += sum(chosen) / self.rate

    @property
    def share(self) -> float | None:
        """Tokens of prompts that were known already, as a share of all; None without a prompt."""
        return self.hit_tokens / self.sampled_tokens if self.sampled_tokens else None

    def common_blocks(self) -> dict[int, int]:
        """Blocks that nearly all requests have, and how many have each."""
        if self.common is None:
            self._close_head(self.requests)
        return {block: n for block, n in (self.common or {}).items() if n >= COMMON_SHARE * self.requests and n > 1}

    @property
    def share_without_common(self) -> float | None:
        """The same without the blocks that nearly all requests have, in hits and in tokens."""
        common = self.common_blocks()
        hits = sum(count - 1 for count in common.values()) * self.block_tokens
        tokens = sum(common.values()) * self.block_tokens
        left = self.tokens - tokens
        if left <= 0 or not self.sampled_tokens:
            return None
        scale = self.tokens / self.sampled_tokens
        return max(0.0, (self.hit_tokens * scale - hits) / left)
