"""adopt, drift, blame, audit and handover on a simulated host, as a person would use them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tests.runner.conftest import Desk, desk, lab

__all__ = ["desk", "lab"]
pytestmark = pytest.mark.xdist_group("history-lab")


def quarter() -> str:
    now = datetime.now(UTC)
    return f"{now.year}Q{(now.month + 2) // 3}"


def edit(desk: Desk, old: str, new: str) -> None:
    """A colleague's editor."""
    text = desk.unit_text()
    assert old in text
    desk.lab.service().unit_file.write_text(text.replace(old, new))


def test_from_a_baseline_to_an_audited_hand_edit(desk: Desk) -> None:
    before = desk.unit_text()
    none = desk.run("history", "blame", "lab1")
    assert none.returncode == 1
    adopted = desk.run("history", "adopt", "lab1", "--reason", "begin here")
    assert adopted.returncode == 0, adopted.stderr
    blamed = desk.run("history", "blame", "lab1", "context_length")
    assert "baseline" in blamed.stdout
    assert "begin here" in blamed.stdout
    same = desk.run("history", "drift", "lab1")
    assert (same.returncode, "as recorded by run" in same.stdout) == (0, True), same.stdout
    try:
        edit(desk, "32768", "65536")
        drifted = desk.run("history", "drift", "lab1")
        assert drifted.returncode == 1
        assert "context_length" in drifted.stdout
        assert "by hand, between" in " ".join(drifted.stdout.split())
        page = json.loads(desk.run("handover", "--json").stdout)
        assert [item["kind"] for item in page["items"]] == ["drift"]
        assert page["items"][0]["what"].startswith("context_length 32768 -> 65536 (disk): by hand")
        assert desk.lab.ask("systemctl", "daemon-reload").status == 0
        assert desk.lab.ask("systemctl", "restart", "--no-block", "--", desk.unit).status == 0
        recorded = desk.run("history", "drift", "--record", "lab1", "--note", "seen at handover")
        assert recorded.returncode == 0, recorded.stderr
        told = desk.git("log", "-1", "--format=%(trailers:key=Observed,valueonly)")
        assert "context_length 32768 -> 65536" in told
        assert "restart " in told
        audited = json.loads(
            desk.run("history", "audit", "--setting", "context_length", "--quarter", quarter(), "--json").stdout
        )
        assert {entry["kind"] for entry in audited["found"]} == {"found", "restart"}
        assert audited["net"][0]["after"] == "65536"
        assert "found" in desk.run("history", "blame", "lab1", "context_length").stdout
        assert desk.run("history", "drift", "lab1").returncode == 0
        assert json.loads(desk.run("handover", "--json").stdout)["items"] == []
    finally:
        desk.put_back(before)
