"""The same requests freeze to the same bytes; what was changed since is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.analysis.workload.frozen import digest, lines, read_trace
from console.errors import InvalidFileError
from console.measure.trace_files import frozen_of, profile_of
from console.results import traces
from tests.analysis.workload.made_up import talks, write


def test_frozen_twice_it_is_the_same_and_its_profile_is_the_traces(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", talks(400))
    head, requests, notes = frozen_of([path], "", "mine")
    again, _, _ = frozen_of([path], "", "mine")
    assert (head.sha256, notes) == (again.sha256, [])
    traces.write(tmp_path / "mine", head, requests)
    assert traces.load(tmp_path / "mine") == (head, requests)
    of_frozen, of_trace = profile_of([tmp_path / "mine" / "trace.jsonl"]), profile_of([path])
    for name in ("input_tokens", "output_tokens", "reuse", "heat", "gap_s"):
        assert getattr(of_frozen, name) == getattr(of_trace, name)


def test_unsorted_lines_are_sorted_and_a_coarse_clock_is_spread_by_its_seed(tmp_path: Path) -> None:
    rows = [{**row, "timestamp": 3000 * (index // 9)} for index, row in enumerate(talks(90))]
    path = write(tmp_path / "a.jsonl", [*rows[45:], *rows[:45]])
    head, requests, notes = frozen_of([path], "", "mine", seed=4)
    at = [one.at_us for one in requests]
    assert at == sorted(at)
    assert len(set(at)) == 90
    assert head.spread_s == pytest.approx(3.0, rel=0.01)
    assert any("spread over that by seed 4" in note for note in notes)
    assert frozen_of([path], "", "mine", seed=5)[0].sha256 != head.sha256


def test_a_changed_trace_is_refused(tmp_path: Path) -> None:
    head, requests, _ = frozen_of([write(tmp_path / "a.jsonl", talks(20))], "", "mine")
    body = "".join(lines(requests)).encode()
    assert digest(requests) == head.sha256
    with pytest.raises(InvalidFileError, match="hash differs"):
        read_trace(head.text().encode(), body.replace(b'"out":', b'"out": ', 1), "x")
    with pytest.raises(InvalidFileError, match="no frozen trace"):
        read_trace(b"{}", body, "x")
