"""A sample of production is of users alone: what we sent ourselves is left out by its time, and counted."""

from __future__ import annotations

from console.analysis.diagnosis.own_load import of_users
from console.analysis.diagnosis.window import Said
from console.engines.base import LogLine


def said(at_s: float, kind: str = "decode") -> Said:
    return Said(at_s, LogLine("decode" if kind == "decode" else "args", ""))


def test_batches_of_our_own_time_are_left_out_with_a_margin() -> None:
    lines = [said(at) for at in (50.0, 96.0, 100.0, 150.0, 204.0, 206.0)]
    found = of_users(lines, [(100.0, 200.0)])
    assert [one.at_s for one in found.lines] == [50.0, 206.0]
    assert found.left_out == 4
    assert of_users(lines, []).left_out == 0


def test_the_hosts_clock_may_be_ahead_of_ours_and_a_start_stays_seen() -> None:
    assert [one.at_s for one in of_users([said(150.0), said(450.0)], [(100.0, 200.0)], 300.0).lines] == [150.0]
    assert len(of_users([said(150.0, "args")], [(100.0, 200.0)]).lines) == 1
