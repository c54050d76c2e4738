"""Gates on a lab: a lossy change whose answers hold stays, one whose long answers are wrong comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runbooks import STRUCTURE
from tests.runner.conftest import Desk, of_type

pytestmark = pytest.mark.xdist_group("gates")

RUNBOOK = Path(__file__).parents[2] / "runbooks" / "kv_cache_fp8.toml"


def test_answers_that_hold_let_an_fp8_cache_stay_and_wrong_long_ones_bring_the_old_one_back(
    desk: Desk, tmp_path: Path
) -> None:
    before = desk.unit_text()
    desk.lab.set_fault("lossy-recall", above_context=20_000)
    code, events = desk.extend_with(RUNBOOK, "--yes")
    (found,) = [one for one in of_type(events, "finding.made") if one["name"] == "retrieval"]
    assert (found["value"], found["n"]) == (0.5, 6)
    assert [event["outcome"] for event in of_type(events, "target.finished")] == ["rolled-back"]
    assert code == 4
    assert desk.unit_text() == before
    (gate,) = [one for one in of_type(events, "step.finished") if one["uses"] == "gate.quality"]
    assert "quality is lost: 3 of 6 hidden codes found, lost at" in gate["message"]

    desk.lab.set_fault(None)
    code, events = desk.extend_with(RUNBOOK, "--yes", "--set", "valid=tools,json")
    assert (code, of_type(events, "target.finished")[0]["outcome"]) == (0, "verified")
    told = {one["name"]: (one["value"], one["n"]) for one in of_type(events, "finding.made")}
    assert (told["retrieval"], told["valid_calls"], told["valid_json"]) == ((1.0, 6), (1.0, 4), (1.0, 4))

    # What the fp8 cache that serves now costs calls of tools fails the same gate.
    desk.lab.set_fault("broken-calls")
    (tmp_path / "structure.toml").write_text(STRUCTURE)
    code, events = desk.extend_with(tmp_path / "structure.toml", "--yes")
    assert code == 1
    (gate,) = [one for one in of_type(events, "step.finished") if one["uses"] == "gate.quality"]
    assert "0 of 4 calls of tools can be read: tools 1: get_weather: no JSON" in gate["message"]
    assert "0 of 4 JSON objects can be read: json 1: no JSON" in gate["message"]


ASKS = """\
schema = 1
name = "ours"
title = "Our own evaluation"
on_failure = "stop"

[[step]]
uses = "gate.quality"
contexts = []
command = {command}
threshold = {threshold}
"""


@pytest.mark.parametrize(("threshold", "expected"), [(1, 0), (1.5, 1)])
def test_an_evaluation_of_the_operators_own_reaches_the_engine(
    desk: Desk, tmp_path: Path, threshold: float, expected: int
) -> None:
    book = tmp_path / "ours.toml"
    asks = "import os, urllib.request as r; r.urlopen(os.environ['OPENAI_BASE_URL'] + '/models'); print(1)"
    command = json.dumps(f'python3 -c "{asks}"')
    book.write_text(ASKS.replace("{threshold}", str(threshold)).replace("{command}", command))
    code, events = desk.extend_with(book, "--yes")
    assert code == expected
    (found,) = [one for one in of_type(events, "finding.made") if one["name"] == "evaluation"]
    assert (found["value"], found["method"], found["flags"]) == (1.0, "command", [f"threshold {threshold:g}"])
