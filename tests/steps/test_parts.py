"""A pair of prefill and decode is waited for and proven in both its parts, and generates through its router."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.engines.base import Reply, Request
from console.errors import NotReadyError, NotServedError, RestartedByOthersError
from console.remote.session import Reader
from console.schema.events import FindingMade, LevelsRead, LogLine, StepProgress
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.steps import service_drain, service_verify
from console.steps.base import StepIO, StepResult
from console.steps.service_drain import ServiceDrain
from console.steps.service_verify import ROUTER_PATIENCE_S, ServiceVerify
from console.steps.service_wait_ready import ServiceWaitReady
from tests.fakes import NEW, NEWER, OLD, UNIT, FakeRemote, Told, facts, plan, serving, step_io, target
from tests.steps.test_service_verify import OLD_LIMIT, RAISED, SERVED, generated
from tests.steps.test_service_wait_ready import ARGS, NO_MEMORY, READY, Host, look

DECODE = "node8/decode"
ROUTER = "http://127.0.0.1:8000"


def pair(remote: FakeRemote) -> Target:
    """The target of a pair, and what its steps plan with: the other part is `remote`'s."""
    own = target()
    service = own.service.model_copy(update={"unit": "decode.service"})
    other = own.model_copy(
        update={"host_name": "node8", "service_name": "decode", "service": service, "rank": 1, "part": True}
    )
    remote.target = other
    whole = own.service.model_copy(update={"nodes": (DECODE,), "router": ROUTER})
    return own.model_copy(update={"nodes": (other,), "service": whole})


def of_decode(text: str = UNIT, **more: Any) -> Facts:
    return facts(text, **more).model_copy(update={"target": DECODE, "part": True})


def io_of(own: FakeRemote, other: FakeRemote, uses: str, told: Told, **more: Any) -> StepIO:
    at = pair(other)
    own.target = at
    own.adopt([other])
    before = facts().model_copy(update={"nodes": (of_decode(),)})
    given: dict[str, Any] = {"plan": plan(target=at), "before": before, "nodes_before": {DECODE: OLD}}
    return step_io(own, uses, told, **(given | more))


READY_LOOKS = (look(NEW, ARGS), look(NEW, READY, active="active", port="55"))


async def wait(own: Host, other: Host, told: Told) -> StepResult:
    io = io_of(own, other, "service.wait_ready", told, timeout_s=60.0)
    other.clock = own.clock
    return await ServiceWaitReady(hard_timeout=600.0).run(io)


async def test_both_are_waited_for() -> None:
    told = Told()
    slow = Host(
        look(OLD, active="deactivating", port="41"),
        *[look(NEWER, ARGS)] * 8,
        look(NEWER, READY, active="active", port="56"),
    )
    result = await wait(Host(*READY_LOOKS), slow, told)
    assert result.outcome == "ok"
    assert "node7/chat ready after" in result.message
    assert f"{DECODE} ready after" in result.message
    assert result.message.endswith(f"invocation {NEWER[:8]}")
    assert {event.target for event in told.of(StepProgress)} == {"node7/chat"}
    assert any(event.message.startswith(f"{DECODE}: ") for event in told.of(StepProgress))
    assert [event.name for event in told.of(FindingMade)] == ["load_time"]


async def test_the_part_that_will_not_start_ends_the_wait_and_is_named() -> None:
    told = Told()
    sick = Host(look(NEWER, ARGS), look(NEWER, ARGS, NO_MEMORY, active="failed", result="exit-code"))
    with pytest.raises(NotReadyError, match=f"{DECODE}: the unit failed .*out of memory") as caught:
        await wait(Host(look(NEW, ARGS)), sick, told)
    assert caught.value.where == "node7/chat"
    assert any(event.text.startswith(f"{DECODE}: ") for event in told.of(LogLine))


class Proof:
    """One verify of a pair; `replies` come from the router, the last one stays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, own: Facts, other: Facts, *replies: Reply) -> None:
        self.told, self.remote, self.replies = Told(), FakeRemote(), list(replies)
        seen = own.model_copy(update={"nodes": (other,)})

        async def collect(_reader: Reader, _engine: object, *, patience_s: float = 0.0) -> Facts:
            return seen

        monkeypatch.setattr(service_verify, "collect", collect)
        monkeypatch.setattr(self.remote, "fetch", self._fetch)
        self.io = io_of(
            self.remote,
            FakeRemote(),
            "service.verify",
            self.told,
            expected={"context_length": "200000"},
            invocation=NEW,
            old_limit_tokens=OLD_LIMIT,
        )

    async def _fetch(self, request: Request, *, patience_s: float = 0.0) -> Reply:
        self.remote.requests.append(request)
        assert request.json is not None
        counted = generated(len(request.json["input_ids"]))
        if not self.replies:
            return counted
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    async def run(self) -> StepResult:
        return await ServiceVerify().run(self.io)


def raised(**more: Any) -> Facts:
    given: dict[str, Any] = {"serving": SERVED, "unit": {"invocation_id": NEW}}
    return facts(RAISED, **(given | more))


def decode(**more: Any) -> Facts:
    return of_decode(more.pop("text", RAISED), **({"serving": SERVED, "unit": {"invocation_id": NEWER}} | more))


async def test_the_levels_of_both_are_read_and_the_generation_goes_through_the_router(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proof = Proof(monkeypatch, raised(), decode())
    result = await proof.run()
    assert result.message == f"served: context_length 200000, pool 203386; {DECODE} as well, pool 203386"
    assert sorted((event.part, event.agree) for event in proof.told.of(LevelsRead)) == [("", True), (DECODE, True)]
    assert {event.target for event in proof.told.of(LevelsRead)} == {"node7/chat"}
    (request,) = proof.remote.requests
    assert request.generates


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            decode(serving=serving(context_length=32768)),
            f"{DECODE}: context_length is 200000 in the unit and 32768 as",
        ),
        (decode(text=UNIT), f"{DECODE}: context_length is 200000 in the unit and 32768 on disk"),
        (decode(unit={"invocation_id": OLD}), f"{DECODE}: the restart has not come about"),
        (decode(unit={"active_state": "failed"}), f"{DECODE}: chat.service is failed"),
        (
            decode(serving=serving(context_length=200_000, pool_tokens=101_134)),
            f"{DECODE}: context_length 200000 is accepted but cannot be served",
        ),
    ],
)
async def test_a_part_that_is_not_so_disproves_it(monkeypatch: pytest.MonkeyPatch, other: Facts, said: str) -> None:
    proof = Proof(monkeypatch, raised(), other)
    with pytest.raises(NotServedError) as caught:
        await proof.run()
    assert caught.value.message.startswith(said)
    assert not proof.remote.requests


async def test_a_router_that_has_not_found_its_servers_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    away = Reply(503, json.dumps({"error": "No available decode workers"}).encode())
    proof = Proof(monkeypatch, raised(), decode(), away, Reply(0, error="connection refused"), generated(33_000))
    assert (await proof.run()).outcome == "ok"
    said = [event.message for event in proof.told.of(StepProgress) if "does not find" in event.message]
    assert said == [
        f"the router {ROUTER} does not find its servers yet: HTTP 503",
        f"the router {ROUTER} does not find its servers yet: connection refused",
    ]
    ids = [request.json["rid"] for request in proof.remote.requests if request.json]
    assert len(set(ids)) == 3


async def test_one_that_never_does_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = Proof(monkeypatch, raised(), decode(), Reply(503, b'{"error": "No available prefill workers"}'))
    begun = proof.remote.clock.monotonic()
    with pytest.raises(NotServedError, match="was not served"):
        await proof.run()
    assert ROUTER_PATIENCE_S <= proof.remote.clock.monotonic() - begun < ROUTER_PATIENCE_S + 10


async def test_a_request_that_is_refused_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Reply(400, b'{"error": {"message": "the input is longer than the context"}}')
    proof = Proof(monkeypatch, raised(), decode(), refused)
    with pytest.raises(NotServedError, match="was not served"):
        await proof.run()
    assert len(proof.remote.requests) == 1


async def test_requests_of_both_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    left = {"node7/chat": [0, 0, 0], DECODE: [2, 1, 0]}

    async def requests(io: StepIO) -> int | None:
        return left[io.plan.target.name].pop(0)

    monkeypatch.setattr(service_drain, "requests", requests)
    told = Told()
    result = await ServiceDrain().run(io_of(FakeRemote(), FakeRemote(), "service.drain", told))
    assert result.message == "no request runs, after 2 s"
    assert [event.message for event in told.of(StepProgress)] == ["2 requests run", "1 requests run"]


async def test_a_part_that_somebody_started_after_the_wait_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    told, kept = Told(), dict[str, str]()
    own, other = Host(*READY_LOOKS), Host(look(NEWER, READY, active="active", port="56"))
    io = io_of(own, other, "service.wait_ready", told, timeout_s=60.0, kept=kept)
    other.clock = own.clock
    await ServiceWaitReady(hard_timeout=600.0).run(io)
    proof = Proof(monkeypatch, raised(), decode(unit={"invocation_id": "4" * 32}))
    proof.io.kept.update(kept)
    with pytest.raises(RestartedByOthersError, match="the service was started again") as caught:
        await proof.run()
    assert caught.value.message.startswith(DECODE)
