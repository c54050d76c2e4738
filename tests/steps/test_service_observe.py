"""A service is watched for a time; whatever a healthy one would not show takes its proof back."""

from __future__ import annotations

from typing import Any

import pytest

from console.engines.base import LogLine
from console.facts.watch import Watch
from console.schema.events import ServiceTroubled
from console.schema.facts import Facts
from console.steps import service_observe
from console.steps.service_observe import ServiceObserve
from tests.fakes import NEW, NEWER, FakeRemote, Told, facts, host, step_io, watch

UP: dict[str, Any] = {"active_state": "active", "sub_state": "running"}


async def observed(
    monkeypatch: pytest.MonkeyPatch, looks: list[Watch], after: Facts | None = None
) -> tuple[str, str, float, list[str]]:
    """Outcome, message, for how long it watched, and what took the proof back."""
    remote, told = FakeRemote(), Told()

    async def look(*_args: Any, **_more: Any) -> Watch:
        return looks.pop(0) if len(looks) > 1 else looks[0]

    async def whole(*_args: Any, **_more: Any) -> Facts:
        return after or facts()

    monkeypatch.setattr(service_observe, "watch_once", look)
    monkeypatch.setattr(service_observe, "collect", whole)
    begun = remote.clock.monotonic()
    step = ServiceObserve.model_validate({"duration": "2m", "every": "15s"})
    result = await step.run(step_io(remote, "service.observe", told, invocation=NEW))
    troubled = [event.message for event in told.of(ServiceTroubled)]
    return result.outcome, result.message, remote.clock.monotonic() - begun, troubled


async def test_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, message, watched_s, troubled = await observed(monkeypatch, [watch(NEW, **UP)])
    assert (outcome, watched_s, troubled) == ("ok", 120.0, [])
    assert message == "nothing happened in 2 min, invocation 22222222"


RETRACTED = LogLine("pressure", "Retract requests. #retracted_reqs: 1", cause="retracted")


@pytest.mark.parametrize(
    ("then", "said"),
    [
        (watch(NEWER, **UP), "the proven process is gone"),
        (watch(NEW, active_state="failed", sub_state="failed"), "the unit is failed/failed"),
        (watch(NEW, n_restarts=1, **UP), "systemd restarted it 1 times"),
        (watch(NEW, RETRACTED, **UP), "Retract requests"),
        (watch(NEW, raw=["A process of this unit has been killed by the OOM killer."], **UP), "OOM killer"),
    ],
)
async def test_trouble_takes_the_proof_back(monkeypatch: pytest.MonkeyPatch, then: Watch, said: str) -> None:
    outcome, message, watched_s, troubled = await observed(monkeypatch, [watch(NEW, **UP), watch(NEW, **UP), then])
    assert (outcome, watched_s) == ("failed", 30.0)
    assert message.startswith("after 30 s: ")
    assert said in message
    assert troubled == [message]


async def test_a_new_xid_is_found_by_the_whole_look(monkeypatch: pytest.MonkeyPatch) -> None:
    after = facts(host=host(xid_lines=("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",)))
    outcome, message, watched_s, _ = await observed(monkeypatch, [watch(NEW, **UP)], after)
    assert (outcome, watched_s) == ("failed", 60.0)
    assert "fallen off the bus" in message


async def test_what_the_start_said_is_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, _, _, _ = await observed(monkeypatch, [watch(NEW, RETRACTED, **UP), watch(NEW, **UP)])
    assert outcome == "ok"
