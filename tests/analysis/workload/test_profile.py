"""A profile's figures are those of a plain computation on the whole list, whichever way the lines were read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from console.analysis.workload.prefixes import Prefixes
from console.measure import trace_files
from console.measure.trace_files import batches, map_of
from tests.analysis.workload.made_up import Row, profiled, talks, write

SHARES = (50, 90, 95, 99)


def plain_reuse(rows: list[Row]) -> tuple[float, float]:
    """With all blocks, and without block 0, which every request begins with."""
    seen: set[int] = set()
    hits = hits_without = 0
    for row in rows:
        run = 0
        for block in row["hash_ids"]:
            if block not in seen:
                break
            run += 1
        hits += min(512 * run, row["input_length"])
        hits_without += min(512 * run, row["input_length"]) - (512 if run else 0)
        seen.update(row["hash_ids"])
    every = sum(row["input_length"] for row in rows)
    return hits / every, hits_without / (every - 512 * len(rows))


@pytest.mark.parametrize("form", [json.dumps, lambda row: json.dumps(row, separators=(",", ":"))])
def test_medians_and_tails_are_those_of_the_sorted_list(tmp_path: Path, form: object) -> None:
    rows = talks(3000)
    found = profiled(write(tmp_path / "a.jsonl", [form(row) for row in rows]))  # type: ignore[operator]
    for name, told in (("input_length", found.input_tokens), ("output_length", found.output_tokens)):
        values = [row[name] for row in rows]
        assert [told.p50, told.p90, told.p95, told.p99] == pytest.approx(np.percentile(values, SHARES), abs=1e-6)
        assert (told.n, told.most) == (3000, max(values))
        assert told.mean == pytest.approx(np.mean(values))
    assert found.gap_s is not None
    gaps = np.diff([row["timestamp"] for row in rows]) / 1000
    assert found.gap_s.p95 == pytest.approx(np.percentile(gaps, 95), rel=0.02)
    assert found.gap_variation == pytest.approx(np.std(gaps) / np.mean(gaps), rel=1e-6)
    assert found.reuse is not None
    assert (found.reuse.share, found.reuse.share_without_common) == pytest.approx(plain_reuse(rows))
    assert found.reuse.common_blocks == 1
    assert sum(map(sum, found.heat.requests)) == 3000


def test_both_ways_of_reading_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = talks(2000)
    quick = profiled(write(tmp_path / "a.jsonl", rows))
    # A float among the times is no form of whole numbers: the same trace line by line.
    slow = profiled(write(tmp_path / "a.jsonl", [{**row, "timestamp": float(row["timestamp"])} for row in rows]))
    assert quick == slow
    monkeypatch.setattr(trace_files, "PIECE_BYTES", 700)
    path = write(tmp_path / "a.jsonl", rows)
    assert sum(len(batch) for batch in batches(path, map_of(path))) == 2000


def test_a_sample_of_blocks_tells_the_same_reuse(tmp_path: Path) -> None:
    rows = talks(6000)
    path = write(tmp_path / "a.jsonl", rows)
    sampled = Prefixes(512, most=4000)
    for piece in trace_files.pieces(path, size=20_000):
        sampled.add(trace_files.parse(piece, map_of(path)))
    assert sampled.rate < 1
    assert sampled.share == pytest.approx(plain_reuse(rows)[0], rel=0.05)


def test_a_coarse_clock_is_told_and_its_gaps_are_not(tmp_path: Path) -> None:
    rows = [{**row, "timestamp": 3000 * (index // 9)} for index, row in enumerate(talks(900))]
    found = profiled(write(tmp_path / "a.jsonl", rows))
    assert found.clock_step_s == pytest.approx(3.0, rel=0.01)
    assert found.gap_variation is None


def test_concurrency_is_of_half_open_spans(tmp_path: Path) -> None:
    head = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type"
    lines = [head, "0,a,10,m,5,5,10,x", "0,b,10,m,5,5,10,x", "10,a,10,m,7,5,12,x", "12,c,1,m,7,0,7,x"]
    found = profiled(write(tmp_path / "burst.csv", lines))
    assert found.at_once is not None
    assert (found.at_once.most, found.at_once.mean) == (2, 1.5)
    assert (found.failed, found.sessions, found.kind) == (1, 2, "burstgpt")
    assert found.turns is not None
    assert found.turns.mean == 1.5


def test_turns_that_only_name_the_one_before_are_one_session(tmp_path: Path) -> None:
    base = {"input_length": 40, "output_length": 9, "type": "text", "hash_ids": [1, 2, 3]}
    rows = [
        {**base, "chat_id": 1, "parent_chat_id": -1, "timestamp": 0.5, "turn": 1},
        {**base, "chat_id": 2, "parent_chat_id": 1, "timestamp": 9.25, "turn": 2},
        {**base, "chat_id": 3, "parent_chat_id": 2, "timestamp": 20.0, "turn": 3},
        {**base, "chat_id": 4, "parent_chat_id": -1, "timestamp": 21.0, "turn": 1},
    ]
    found = profiled(write(tmp_path / "qwen.jsonl", rows))
    assert (found.kind, found.sessions) == ("bailian", 2)
    assert found.turns is not None
    assert found.turns.most == 3
