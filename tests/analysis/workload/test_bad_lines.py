"""What is wrong in a trace is counted, named with its line, and never silently dropped."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path

import pytest
import zstandard

from console.errors import InvalidFileError, RefusedError
from tests.analysis.workload.made_up import profiled, talks, write

GOOD = talks(1000)


def test_bad_lines_are_named(tmp_path: Path) -> None:
    rows: list[object] = [*GOOD]
    rows[10] = {**GOOD[10], "input_length": -4}
    rows[20] = {**GOOD[20], "output_length": 20_000_000}
    rows[30] = {"timestamp": 4, "output_length": 1, "hash_ids": []}
    rows[40] = "{nonsense"
    found = profiled(write(tmp_path / "a.jsonl", rows))  # type: ignore[arg-type]
    assert found.requests == 996
    told = "\n".join(found.bad)
    assert "input length is below 0 (line 11)" in told
    assert "absurd output length, above 10,000,000 tokens (line 21)" in told
    assert "no column input_length (line 31)" in told
    assert "not JSON (line 41)" in told


def test_digits_where_no_number_is_are_read_as_json_reads_them(tmp_path: Path) -> None:
    rows: list[object] = [*GOOD]
    rows[3] = '{"timestamp": 07, "input_length": 5, "output_length": 5, "hash_ids": [1]}'
    rows[4] = '{"timestamp": 5, "input_length": 5, "output_length": 5, "hash_ids": [1]} {}'
    rows[5] = '{"timestamp": 5, "input_length": 3.5, "output_length": 5, "hash_ids": [1]}'
    rows[6] = '{"timestamp9": 5, "input_length": 3, "output_length": 5, "hash_ids": [1]}'
    found = profiled(write(tmp_path / "a.jsonl", rows), tolerance=0.01)  # type: ignore[arg-type]
    assert (found.requests, found.bad_lines) == (996, 4)


def test_more_bad_lines_than_tolerated_is_a_refusal_that_names_them(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [json.dumps(row) for row in GOOD] + ["x"] * 30)
    with pytest.raises(RefusedError, match=r"30 of 1,030 lines .* not JSON \(line 1001, 1002, 1003 …\)"):
        profiled(path)
    assert profiled(path, tolerance=0.1).bad_lines == 30


def test_unsorted_times_and_a_torn_last_line_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [*GOOD[:500], GOOD[2], *GOOD[500:]])
    with path.open("a") as file:
        file.write('{"timestamp": 99')
    found = profiled(path)
    assert found.requests == 1001
    assert any("earlier than the line before (line 501)" in text for text in found.told)
    assert any("cut off in the middle of the last line (line 1002)" in text for text in found.told)


def test_packed_traces_read_the_same_and_a_cut_one_is_refused(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.jsonl", GOOD)
    (tmp_path / "b.gz").write_bytes(gzip.compress(plain.read_bytes()))
    (tmp_path / "c.zst").write_bytes(zstandard.compress(plain.read_bytes()))
    first, *others = (profiled(tmp_path / name) for name in ("a.jsonl", "b.gz", "c.zst"))
    assert all(other.model_copy(update={"files": first.files}) == first for other in others)
    (tmp_path / "d.gz").write_bytes((tmp_path / "b.gz").read_bytes()[:-200])
    with pytest.raises(RefusedError, match="cannot be read from line"):
        profiled(tmp_path / "d.gz")


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    path = tmp_path / "dump.pkl"
    path.write_bytes(pickle.dumps([("request", "reply", 0.0, 1.0)]))
    with pytest.raises(RefusedError, match="pickle"):
        profiled(path)


def test_a_csv_without_its_columns_and_a_kind_nobody_knows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ["TIMESTAMP,ContextTokens", "2024-01-01 00:00:00.0000000,5"])
    with pytest.raises(RefusedError, match="no column GeneratedTokens"):
        profiled(path, "azure")
    with pytest.raises(RefusedError, match="no trace of a kind"):
        profiled(path)
    with pytest.raises(InvalidFileError, match="no column map azur"):
        profiled(path, "azur")
