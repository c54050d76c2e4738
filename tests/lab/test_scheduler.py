"""The simulated engine's timing, in its own time."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from console.lab.simulator.memory import Limits
from console.lab.simulator.options import Options
from console.lab.simulator.scheduler import Job, Scheduler
from console.lab.simulator.server import finished
from console.lab.simulator.sim_clock import SimClock

SPEED = 2000.0


@asynccontextmanager
async def running(
    options: Options | None = None, pool: int = 101_134, max_running: int = 48
) -> AsyncIterator[Scheduler]:
    clock = SimClock(SPEED)
    limits = Limits(200_000, pool)
    scheduler = Scheduler(options or Options(), clock, limits, max_running, chunk=8192, log_every=40, draft_tokens=8)
    task = asyncio.create_task(scheduler.run())
    try:
        yield scheduler
    finally:
        task.cancel()


def job(scheduler: Scheduler, prompt: int, output: int, accept: float = 2.9, first: int = 7) -> Job:
    tokens = array("I", range(first, first + prompt))
    new = Job(f"r{prompt}-{output}-{first}", tokens, output, accept, False, scheduler.clock.now())
    scheduler.submit(new)
    return new


async def test_a_step_takes_what_the_formula_says_at_every_context() -> None:
    async with running() as scheduler:
        for prompt in (100, 20_000, 100_000):
            await finished(job(scheduler, prompt, 30))  # fills the prefix cache
            long = job(scheduler, prompt, 600)
            await finished(long)
            again = job(scheduler, prompt, 30)
            await finished(again)
            step_s = (long.latency - again.latency) / (long.steps - again.steps)
            # between the two points the context is the prompt and on average half of both outputs
            expected_s = (26.3 + 0.0201 * (prompt + (30 + 600) / 2)) / 1000
            assert step_s == pytest.approx(expected_s, rel=0.005)


async def test_steps_commit_the_class_of_text() -> None:
    async with running() as scheduler:
        for accept in (4.75, 7.85, 2.9, 1.0):
            one = job(scheduler, 10, 1001, accept)
            await finished(one)
            assert one.done_tokens == 1001
            assert (one.done_tokens - 1) / one.steps == pytest.approx(accept, rel=0.01)


async def test_prefill_runs_at_its_rate_and_the_prefix_is_not_computed_twice() -> None:
    async with running() as scheduler:
        first = job(scheduler, 80_000, 1)
        await finished(first)
        assert first.latency == pytest.approx(10.05, rel=0.01)
        second = job(scheduler, 80_000, 1)
        await finished(second)
        assert second.cached == 79_999
        assert second.latency < 0.1


async def test_two_requests_share_the_steps() -> None:
    async with running(Options(noise=0.0)) as scheduler:
        alone = job(scheduler, 1000, 300)
        await finished(alone)
        both = [job(scheduler, 1000, 300), job(scheduler, 1000, 300, first=5000)]
        for each in both:
            await finished(each)
        assert alone.latency < both[0].latency < 1.5 * alone.latency + 0.2


async def test_a_request_waits_until_the_pool_has_room() -> None:
    async with running(pool=10_000) as scheduler:
        first = job(scheduler, 6000, 300)
        second = job(scheduler, 6000, 300, first=50_000)
        await finished(second)
        assert first.finished_at is not None
        assert second.first_token_at is not None
        assert second.first_token_at > first.finished_at


async def test_an_aborted_request_ends_with_what_it_has() -> None:
    async with running(max_running=1) as scheduler:
        one, waiting = job(scheduler, 100, 100_000), job(scheduler, 100, 5, first=900)
        await asyncio.wait_for(one.changed.wait(), 5)
        assert scheduler.abort(waiting.rid) == 1
        assert waiting.reason == "abort"
        assert scheduler.abort(one.rid) == 1
        await finished(one)
        assert one.reason == "abort"
        assert 0 < one.done_tokens < 100_000
        assert scheduler.idle
