"""Draining waits for what runs, never for longer than it may, and says what it cannot see."""

from __future__ import annotations

from typing import Any

import pytest

from console.schema.events import StepProgress
from console.steps import service_drain
from console.steps.service_drain import ServiceDrain
from tests.fakes import FakeRemote, Told, step_io


async def drain(
    monkeypatch: pytest.MonkeyPatch, seen: list[int | None], **fields: Any
) -> tuple[str, str, list[str], float]:
    """Outcome, message, what was said meanwhile, and for how long it waited."""
    remote, told = FakeRemote(), Told()

    async def requests(_io: object) -> int | None:
        return seen.pop(0) if len(seen) > 1 else seen[0]

    monkeypatch.setattr(service_drain, "requests", requests)
    begun = remote.clock.monotonic()
    result = await ServiceDrain.model_validate(fields).run(step_io(remote, "service.drain", told))
    said = [event.message for event in told.of(StepProgress)]
    return result.outcome, result.message, said, remote.clock.monotonic() - begun


async def test_it_ends_with_the_last_request(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, message, said, waited_s = await drain(monkeypatch, [3, 1, 0])
    assert (outcome, message, waited_s) == ("ok", "no request runs, after 2 s", 2.0)
    assert said == ["3 requests run", "1 requests run"]


@pytest.mark.parametrize(("then", "outcome"), [("proceed", "ok"), ("stop", "refused")])
async def test_at_the_deadline_it_goes_on_or_stops_as_it_says(
    monkeypatch: pytest.MonkeyPatch, then: str, outcome: str
) -> None:
    ended, message, _, waited_s = await drain(monkeypatch, [2], deadline=10, then=then)
    assert (ended, message, waited_s) == (outcome, "2 requests still run after 10 s", 10.0)


async def test_what_cannot_be_seen_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, message, said, waited_s = await drain(monkeypatch, [None])
    assert (outcome, said, waited_s) == ("ok", [], 0.0)
    assert "cannot be seen" in message
