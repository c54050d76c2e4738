"""What SGLang's log says, case by case; a case is a file beside `expected.json`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.engines.base import LogLine
from console.engines.logtable import Row, row_for, split_lines
from console.engines.progress import folded, starts
from console.engines.registry import engine_named
from console.engines.sglang_log import TABLE

CASES = Path(__file__).parents[1] / "cases" / "logs" / "sglang"
EXPECTED: list[dict[str, Any]] = json.loads((CASES / "expected.json").read_text(encoding="utf-8"))
SGLANG = engine_named("sglang")


def lines_of(text: str) -> list[LogLine]:
    return [line for line in map(SGLANG.read_log, split_lines(text)) if line is not None]


def text_of(name: str) -> str:
    return (CASES / name).read_bytes().decode("utf-8")  # as bytes: reading as text would turn \r into \n


@pytest.mark.parametrize("case", EXPECTED, ids=lambda case: str(case["file"]))
def test_a_log_is_read_as_expected(case: dict[str, Any]) -> None:
    expect: dict[str, Any] = dict(case["expect"])
    lines = lines_of(text_of(case["file"]))
    by_start = starts(lines)
    progress = folded(lines)

    seen: dict[str, Any] = {
        "starts": len(by_start),
        "causes": [cause.cause if (cause := SGLANG.failure_cause(start)) else None for start in by_start],
        "ready_at": [line.values["at"] for line in lines if line.kind == "ready"],
        "kinds": {kind: sum(line.kind == kind for line in lines) for kind in expect.get("kinds", {})},
        "phase": progress.phase,
        "done": progress.done,
        "total": progress.total,
        "fraction": round(progress.fraction, 4),
        "pool_tokens": progress.pool_tokens,
        "context_length": progress.context_length,
        "ready": progress.ready,
    }
    seen["cause"] = seen["causes"][-1]
    values: dict[str, list[dict[str, Any]]] = expect.pop("values", {})
    assert {name: seen[name] for name in expect} == expect
    for kind, wanted in values.items():
        found = [dict(line.values) for line in lines if line.kind == kind]
        assert len(found) == len(wanted)
        for have, want in zip(found, wanted, strict=True):
            assert have.items() >= want.items()


def test_every_case_file_is_expected_and_every_expectation_has_its_file() -> None:
    assert {path.name for path in CASES.glob("*.txt")} == {case["file"] for case in EXPECTED}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.kind} {row.example[:40]}")
def test_the_example_of_a_row_is_read_by_that_row(row: Row) -> None:
    found = row_for(TABLE, row.example)
    assert found is not None
    assert found[0] is row


def test_every_failure_names_its_cause_and_nothing_else_has_a_certainty() -> None:
    for row in TABLE:
        assert (row.certainty > 0) == (row.kind == "failure"), row.example
        assert row.cause or row.kind not in ("failure", "pressure"), row.example


def test_the_printed_arguments_leave_no_secret_behind() -> None:
    for name in ("start-0.5.10-draft-model.txt", "start-0.5.23-pool-smaller-than-context.txt"):
        text = text_of(name)
        assert "CANARY" in text
        assert "CANARY" not in repr(lines_of(text))


def test_a_request_that_was_logged_is_not_kept() -> None:
    assert SGLANG.read_log("[2026-01-01 00:00:00] Receive: obj=GenerateReqInput(rid='a', text='private words')") is None


def test_coloured_lines_of_uvicorn_are_read() -> None:
    line = SGLANG.read_log(
        '\x1b[32mINFO\x1b[0m:     10.0.0.9:5 - "\x1b[1mPOST /generate HTTP/1.1\x1b[0m" \x1b[31m400 Bad\x1b[0m'
    )
    assert line is not None
    assert line.kind == "access"
    assert line.values["status"] == 400


@given(st.text(max_size=300))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    for line in [text, *split_lines(text)]:
        SGLANG.read_log(line)


@pytest.mark.parametrize(
    "unit", ["Capturing ", "Capture ", "[2026-01-01 00:00:00 ", "#token: 1, ", "Error", ".", " ", "|"]
)
def test_a_line_of_a_megabyte_is_read_in_no_time(unit: str) -> None:
    began = time.perf_counter()
    SGLANG.read_log(unit * (1_000_000 // len(unit)))
    assert time.perf_counter() - began < 1.0
