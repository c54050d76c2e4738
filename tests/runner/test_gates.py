"""Gates on a lab: a lossy change whose answers hold stays, one whose long answers are wrong comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runner.conftest import Desk, of_type

pytestmark = pytest.mark.xdist_group("gates")

RUNBOOK = Path(__file__).parents[2] / "runbooks" / "kv_cache_fp8.toml"


def test_answers_that_hold_let_an_fp8_cache_stay_and_wrong_long_ones_bring_the_old_one_back(desk: Desk) -> None:
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
    code, events = desk.extend_with(RUNBOOK, "--yes")
    assert (code, of_type(events, "target.finished")[0]["outcome"]) == (0, "verified")
    (found,) = [one for one in of_type(events, "finding.made") if one["name"] == "retrieval"]
    assert (found["value"], found["n"]) == (1.0, 6)
