"""The acceptance table runs, judges by its bounds, and says what it saw."""

from __future__ import annotations

import json
import sys

import pytest

from bench import accuracy
from bench.scorecard import Outcome, Score, least, most, p95, score, table


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["accuracy", *words])
    return accuracy.main()


def test_a_few_replicas_of_cheap_rows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "clean,early-stop,buffered,sweep-contaminated"
    assert run(monkeypatch, "--rows", rows, "--replicas", "20", "--json") == 0
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert len(found) == 4
    assert found["clean (2 ms)"]["requests"] == 10
    assert found["clean (2 ms)"]["replicas"] == 20


def test_an_unknown_row_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "--rows", "cleen")
    assert "no such row: cleen" in capsys.readouterr().err


def test_a_row_beyond_its_bound_is_missed_and_says_which() -> None:
    outcomes = [Outcome(161.6, True, 10, 150.0)] * 20
    missed = score("off", outcomes, 160.0, bias=0.2, error=2.0)
    assert not missed.met
    text = table([missed, Score("fine", 5, (least("seen", 98, 95), most("told", 1)))])
    assert "MISSED  off" in text
    assert "|bias| 1.00% (≤0.2) MISSED" in text
    assert "p95 1.00% (≤2)," in text
    assert "1 of 2 rows met" in text


def test_a_value_that_is_no_number_counts_as_the_largest_error() -> None:
    assert p95([0.1] * 19 + [float("nan")]) == 0.1
    assert p95([0.1] * 9 + [float("nan")]) == float("inf")
