"""A better median with a worse p95 fails the gate; nothing to compare with is what the runbook says it is."""

from __future__ import annotations

import random
from typing import Any

import pytest

from console.schema.events import FindingMade
from console.schema.loads import Level, Sent
from console.steps import gate_performance
from console.steps.gate_performance import GatePerformance, times
from tests.fakes import FakeRemote, Told, step_io


def level(*, scale: float = 1.0, tail: float = 1.0, n: int = 400, seed: int = 1) -> Level:
    chance = random.Random(seed)
    took = [scale * chance.lognormvariate(0, 0.1) * (tail if index % 12 == 0 else 1.0) for index in range(n)]
    sent = [
        Sent(scheduled_s=1.0, sent_s=1.0, first_s=1.0 + one / 4, ended_s=1.0 + one, first_tokens=1, completion_tokens=9)
        for one in took
    ]
    return Level(streams=8, requests=tuple(sent))


async def gate(
    monkeypatch: pytest.MonkeyPatch, before: list[Level], now: list[Level], **fields: Any
) -> tuple[str, str, Told]:
    monkeypatch.setattr(gate_performance, "known_loads", lambda *_: tuple(before))
    told = Told()
    io = step_io(FakeRemote(), "gate.performance", told, loads=now, results_path="somewhere")
    result = await GatePerformance.model_validate(fields).run(io)
    return result.outcome, result.message, told


async def test_a_better_median_with_a_worse_p95_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, message, told = await gate(monkeypatch, [level()], [level(scale=0.9, tail=2.0, seed=2)])
    assert outcome == "failed"
    assert message.startswith("e2e is worse than before: median ")
    (finding,) = told.of(FindingMade)
    assert finding.value == "fail"
    assert finding.figures["median_worse_percent"] < 0 < finding.figures["p95_worse_percent"]


async def test_the_same_passes_in_each_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    for metric in ("ttft", "itl", "e2e"):
        outcome, message, _ = await gate(monkeypatch, [level()], [level(seed=3)], metric=metric, tolerance=0.05)
        assert (outcome, "a loss" in message) == ("ok", False), metric


@pytest.mark.parametrize(("inconclusive", "outcome"), [("pass", "ok"), ("fail", "failed")])
async def test_what_cannot_be_told_is_as_the_runbook_says(
    monkeypatch: pytest.MonkeyPatch, inconclusive: str, outcome: str
) -> None:
    for before, now in (([], [level()]), ([level()], []), ([level(n=9)], [level(n=9)])):
        found, message, _ = await gate(monkeypatch, before, now, inconclusive=inconclusive)
        assert found == outcome, message
    other = level().model_copy(update={"streams": 16})
    found, message, _ = await gate(monkeypatch, [other], [level()], inconclusive=inconclusive)
    assert (found, "no earlier measurement of 8 streams" in message) == (outcome, True)


async def test_a_band_is_judged_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def mixed(scale: float) -> Level:
        """Half of the requests are long ones, and only those change."""
        short, long = level(seed=4), level(seed=5, scale=scale)
        told = [one.model_copy(update={"prompt_tokens": 100}) for one in short.requests]
        told += [one.model_copy(update={"prompt_tokens": 9000}) for one in long.requests]
        return short.model_copy(update={"requests": tuple(told)})

    for band, outcome in (("input:0-1024", "ok"), ("input:4096-16384", "failed")):
        found, message, told = await gate(monkeypatch, [mixed(1.0)], [mixed(1.5)], band=band)
        assert found == outcome, message
        assert told.of(FindingMade)[0].source == band
    with pytest.raises(ValueError, match="no band input:7; there are all, input:0-1024, "):
        GatePerformance.model_validate({"band": "input:7"})


async def test_before_is_what_this_run_measured_before_its_restart() -> None:
    before, now = level(), level(scale=1.5, seed=2)
    told = Told()
    io = step_io(FakeRemote(), "gate.performance", told, loads=[before, now], loads_before=[before])
    result = await GatePerformance(against="before").run(io)
    assert (result.outcome, told.of(FindingMade)[0].value) == ("failed", "fail")
    io = step_io(FakeRemote(), "gate.performance", told, loads=[before], loads_before=[before])
    result = await GatePerformance(against="before", inconclusive="fail").run(io)
    assert result.message == "cannot be judged: nothing was measured in this run that could be compared"


def test_refused_requests_are_no_times() -> None:
    one = level(n=2)
    bad = one.model_copy(update={"requests": (one.requests[0].model_copy(update={"refused": "ended early"}),)})
    assert (len(times(one, "e2e")), times(bad, "e2e")) == (2, [])
