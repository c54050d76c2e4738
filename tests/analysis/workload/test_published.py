"""Traces as they are published: every figure as a plain computation has it, and the facts that are known of each kind.

`--traces DIR` reads a folder of them; without it the sample of the documentation stands in.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from console.schema.workload import Distribution, WorkloadProfile
from tests.analysis.workload.made_up import profiled

SAMPLE = Path(__file__).parents[3] / "docs" / "sample-trace.jsonl"
BLOCK = 512


@dataclass(frozen=True)
class Known:
    """What is told of a whole trace: p50, p95 and p99 of its lengths, and the ideal reuse of prefixes in percent."""

    input: tuple[float, ...]
    output: tuple[float, ...]
    reuse: float | None = None


# By their kind and number of requests.
WHOLE = {
    ("mooncake", 60): Known((1955, 3802.15, 4214.24), (116.5, 183.1, 194.87), 77.93),
    ("mooncake", 12_031): Known((6909, 39_550, 85_400), (350, 698, 1119), 37.4),
    ("azure", 19_366): Known((1020, 4083), (129, 451)),
    ("azure", 8_819): Known((1469, 7303), (13, 90)),
}


@dataclass
class Plain:
    """The whole trace in lists."""

    at_s: list[float]
    input: list[int]
    output: list[int]
    blocks: list[list[int]]


def plain(path: Path) -> Plain:
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        # Seven digits of a second: one more than Python reads.
        at = [datetime.fromisoformat(row["TIMESTAMP"][:26]).replace(tzinfo=UTC).timestamp() for row in rows]
        return Plain(at, [int(row["ContextTokens"]) for row in rows], [int(row["GeneratedTokens"]) for row in rows], [])
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return Plain(
        [row["timestamp"] / 1000 for row in found],
        [row["input_length"] for row in found],
        [row["output_length"] for row in found],
        [row["hash_ids"] for row in found],
    )


def reuse(trace: Plain, left_out: frozenset[int] = frozenset()) -> float:
    """The share of tokens that a cache which never forgets would have had, without blocks that are `left_out`."""
    seen: set[int] = set()
    hits = every = 0
    for tokens, blocks in zip(trace.input, trace.blocks, strict=True):
        known = 0
        while known < len(blocks) and blocks[known] in seen:
            known += 1
        common = sum(block in left_out for block in blocks[:known])
        hits += min(BLOCK * known, tokens) - BLOCK * common
        every += tokens - BLOCK * sum(block in left_out for block in blocks)
        seen.update(blocks)
    return hits / every


def told(found: Distribution) -> list[float]:
    return [found.p50, found.p90, found.p95, found.p99]


def traces(config: pytest.Config) -> list[Path]:
    folder = config.getoption("--traces")
    return sorted(p for p in Path(folder).iterdir() if p.suffix in (".jsonl", ".csv")) if folder else [SAMPLE]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "trace" in metafunc.fixturenames:
        metafunc.parametrize("trace", traces(metafunc.config), ids=lambda path: path.name)


def test_figures_are_those_of_a_plain_computation(trace: Path) -> None:
    found, lists = profiled(trace), plain(trace)
    assert (found.requests, found.bad_lines) == (len(lists.input), 0)
    for distribution, values in ((found.input_tokens, lists.input), (found.output_tokens, lists.output)):
        assert told(distribution) == pytest.approx(np.percentile(values, (50, 90, 95, 99)))
        assert distribution.mean == pytest.approx(np.mean(values))
        assert distribution.most == max(values)
    gaps = np.diff(lists.at_s)
    assert found.span_s == pytest.approx(lists.at_s[-1] - lists.at_s[0], abs=1e-5)
    if found.clock_step_s is None:
        assert found.gap_variation == pytest.approx(np.std(gaps) / np.mean(gaps), rel=1e-5)
    else:
        # A clock of steps: all gaps are none or whole steps, and nothing is said of how they vary.
        steps = np.asarray([gap for gap in gaps if gap]) / found.clock_step_s
        assert found.gap_variation is None
        assert np.abs(steps - np.round(steps)).max() < 0.05
    if lists.blocks:
        agrees_on_reuse(found, lists)


def agrees_on_reuse(found: WorkloadProfile, lists: Plain) -> None:
    assert found.reuse is not None
    assert all(-(-tokens // BLOCK) == len(blocks) for tokens, blocks in zip(lists.input, lists.blocks, strict=True))
    often = Counter(block for blocks in lists.blocks for block in set(blocks))
    common = frozenset(block for block, times in often.items() if times >= 0.95 * len(lists.blocks))
    assert found.reuse.share == pytest.approx(reuse(lists))
    assert found.reuse.common_blocks == len(common)
    assert found.reuse.share_without_common == pytest.approx(reuse(lists, common))


def test_what_is_known_of_published_traces(trace: Path) -> None:
    """A clock of three seconds and one block for all: Mooncake's conversations. No zone: Azure's. Whole: figures."""
    found = profiled(trace)
    if "conversation" in trace.name:
        assert found.clock_step_s == pytest.approx(3.0, rel=0.01)
        assert found.reuse is not None
        assert found.reuse.common_blocks == 1
        assert found.reuse.any_share == pytest.approx(1.0, abs=0.005)
    if found.kind == "azure":
        assert any("without a zone" in one for one in found.told)
        assert found.reuse is None
    known = WHOLE.get((found.kind, found.requests))
    if known is not None:
        for lengths, (p50, p95, *rest) in ((found.input_tokens, known.input), (found.output_tokens, known.output)):
            assert lengths.p50 == pytest.approx(p50, rel=0.001)
            assert lengths.p95 == pytest.approx(p95, rel=0.001)
            assert [lengths.p99] * len(rest) == pytest.approx(rest, rel=0.001)
        if known.reuse is not None:
            assert found.reuse is not None
            assert 100 * found.reuse.share == pytest.approx(known.reuse, rel=0.002)
