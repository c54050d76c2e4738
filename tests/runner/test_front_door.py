"""A target that was taken out of its balancer is put in again by whatever ends the run, or is told to be out still."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from console.errors import NotReadyError, NotServedError, RefusedError
from console.remote.scripts import Output
from console.runner import finish
from console.runner.doors import Doors
from console.schema.change import BalancerChange
from console.schema.events import TargetFinished
from console.schema.group import Member
from console.schema.hosts import Group
from console.schema.outcome import Outcome
from console.schema.plan import Plan
from console.steps.base import StepIO
from tests.fakes import FakeRemote, context
from tests.runner.job import FILE, RELOAD, RESTART, Host, Looks, carried_out, job, raises, step

OUT = BalancerChange(
    id="b1", step="out", way="out", member="node7/chat", group="chat", out="drain", back="ready", summary="out"
)
IN = OUT.model_copy(update={"id": "b2", "step": "in", "way": "in", "summary": "in"})


def plan_of(*parts: Any) -> Plan:
    """As `job`, with the balancer's steps."""
    planned = job(*(part for part in parts if not isinstance(part, BalancerChange)))
    others = iter(planned.steps)
    steps = [step(f"lb.{part.way}", part) if isinstance(part, BalancerChange) else next(others) for part in parts]
    changes = tuple(part for part in parts if not isinstance(part, str))
    return planned.model_copy(update={"steps": tuple(steps), "changes": changes})


MAIN = (OUT, FILE, RELOAD, RESTART, "service.wait_ready", "service.verify", IN)


def sent(host: FakeRemote) -> list[str]:
    """The scripts that changed something; of the balancer's the words themselves."""
    said = []
    for script, args in host.told:
        if script == "act_command.sh":
            said.append(base64.b64decode(args[0]).decode())
        elif script in ("act_replace.sh", "act_restart.sh"):
            said.append(script[4:-3])
    return said


async def ended(tmp_path: Path, host: Host, planned: Plan) -> tuple[Outcome, str]:
    run, state, told = await carried_out(context(tmp_path), host, planned)
    outcome, _ = await finish.finish(run, state, None)
    (last,) = told.of(TargetFinished)
    return outcome, last.message


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    looks = Looks()
    looks.install(monkeypatch)
    return looks


async def test_in_again_after_the_proof_and_the_proof_still_holds(tmp_path: Path, looks: Looks) -> None:
    host = Host()
    assert await ended(tmp_path, host, plan_of(*MAIN)) == (Outcome.VERIFIED, "")
    assert sent(host) == ["drain", "replace", "restart", "ready"]


async def test_a_rollback_puts_it_in_last_of_all(tmp_path: Path, looks: Looks) -> None:
    looks.verify.append(raises(NotServedError("the pool is too small")))
    host = Host()
    outcome, message = await ended(tmp_path, host, plan_of(*MAIN))
    assert sent(host) == ["drain", "replace", "restart", "replace", "restart", "ready"]
    assert outcome is Outcome.ROLLED_BACK
    assert "still out" not in message


async def test_what_serves_nothing_is_not_put_in(tmp_path: Path, looks: Looks) -> None:
    looks.wait += [raises(NotReadyError("it crashed")), raises(NotReadyError("it crashed, too"))]
    host = Host()
    outcome, message = await ended(tmp_path, host, plan_of(*MAIN))
    assert sent(host)[-1] == "restart"
    assert outcome is Outcome.ROLLBACK_FAILED
    assert "node7/chat is still out of the balancer of chat; to put it in: ready   (on the host)" in message


async def test_a_refusal_before_the_first_write_puts_it_in(tmp_path: Path, looks: Looks) -> None:
    looks.wait.append(raises(RefusedError("2 requests still run")))
    host = Host()
    planned = plan_of(OUT, "service.wait_ready", FILE, RELOAD, RESTART, "service.verify", IN)
    outcome, message = await ended(tmp_path, host, planned)
    assert sent(host) == ["drain", "ready"]
    assert outcome is Outcome.FAILED_UNCHANGED
    assert "still out" not in message


async def test_a_stop_before_the_first_write_puts_it_in(tmp_path: Path, looks: Looks) -> None:
    run = context(tmp_path)
    host = Host()

    def stop(_io: StepIO) -> None:
        run.abort.request("SIGINT")

    looks.wait.append(stop)
    planned = plan_of(OUT, "service.wait_ready", FILE, RELOAD, RESTART, "service.verify", IN)
    _, state, _ = await carried_out(run, host, planned)
    assert sent(host) == ["drain", "ready"]
    assert state.outcome("node7/chat") is Outcome.ABORTED_UNCHANGED


async def test_out_by_half_is_put_in(tmp_path: Path, looks: Looks) -> None:
    host = Host(answers={"act_command.sh": [Output(1, stderr=b"2 of 3 routers heard it"), Output(0)]})
    outcome, _ = await ended(tmp_path, host, plan_of(*MAIN))
    assert sent(host) == ["drain", "ready"]
    assert outcome is Outcome.FAILED_UNCHANGED


async def test_proven_but_not_put_in_is_incomplete_and_told(tmp_path: Path, looks: Looks) -> None:
    host = Host(answers={"act_command.sh": [Output(0), Output(1, stderr=b"router is down")]})
    outcome, message = await ended(tmp_path, host, plan_of(*MAIN))
    assert outcome is Outcome.VERIFIED_INCOMPLETE
    assert "router is down" in message
    assert "still out of the balancer of chat" in message


def doors(*members: str, min_ready: int, of_run: tuple[str, ...], ready: bool = True) -> Doors:
    async def look(name: str) -> Member:
        return Member(name=name, ready=ready, why="" if ready else "no answer")

    return Doors({"chat": Group(members=members, min_ready=min_ready)}, frozenset(of_run), look)


def out_of(name: str) -> BalancerChange:
    return OUT.model_copy(update={"member": name})


async def test_one_waits_until_another_is_in_again() -> None:
    both = doors("a/x", "b/x", "c/x", min_ready=2, of_run=("a/x", "b/x"))
    said: list[str] = []
    await both.leave(out_of("a/x"), said.append)
    second = asyncio.ensure_future(both.leave(out_of("b/x"), said.append))
    await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    assert not second.done()
    assert said == ["waits until another of group chat serves again: min_ready = 2"]
    await both.back(out_of("a/x"))
    await asyncio.wait_for(second, 5)


async def test_one_that_ended_badly_is_not_waited_for() -> None:
    both = doors("a/x", "b/x", min_ready=1, of_run=("a/x", "b/x"))
    await both.leave(out_of("a/x"), lambda _text: None)
    second = asyncio.ensure_future(both.leave(out_of("b/x"), lambda _text: None))
    await asyncio.sleep(0.01)
    await both.ended("a/x", serves=False)
    with pytest.raises(RefusedError, match=r"min_ready = 1 .*its run did not end well"):
        await asyncio.wait_for(second, 5)


async def test_others_are_looked_at_when_it_is_time() -> None:
    with pytest.raises(RefusedError, match=r"b/x: no answer"):
        await doors("a/x", "b/x", min_ready=1, of_run=("a/x",), ready=False).leave(out_of("a/x"), lambda _text: None)
