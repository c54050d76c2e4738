"""Stopping: looking ends at once, an action ends whole, and an answered stop is gone."""

from __future__ import annotations

import asyncio

import pytest

from console.errors import AbortedError, RefusedError
from console.runner.abort import Abort, Stop, shielded


async def test_work_that_is_done_has_its_result() -> None:
    async def work() -> int:
        return 7

    assert await Stop().race(work()) == 7


async def test_work_that_fails_raises_what_it_raised() -> None:
    async def work() -> int:
        raise RefusedError("no")

    with pytest.raises(RefusedError, match="no"):
        await Stop().race(work())


async def test_a_stop_cancels_the_work_at_once_and_says_who_stopped() -> None:
    abort, ended = Stop(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    racing = asyncio.ensure_future(abort.race(work()))
    await asyncio.sleep(0)
    abort.hear("SIGINT")
    with pytest.raises(AbortedError, match="stopped by SIGINT") as caught:
        await racing
    assert caught.value.exit_code == 130
    assert ended.is_set()


async def test_a_stop_from_before_the_work_ends_it_too() -> None:
    abort = Stop()
    abort.hear("tui")

    async def work() -> None:
        await asyncio.Event().wait()

    with pytest.raises(AbortedError):
        await abort.race(work())


async def test_work_that_will_not_end_does_not_delay_the_answer() -> None:
    abort, release = Stop(), asyncio.Event()

    async def work() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    racing = asyncio.ensure_future(abort.race(work()))
    await asyncio.sleep(0)
    abort.hear("SIGINT")
    async with asyncio.timeout(5.0):
        with pytest.raises(AbortedError):
            await racing
    release.set()
    await asyncio.sleep(0)


async def test_an_error_on_the_way_out_does_not_hide_the_stop() -> None:
    abort = Stop()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise RefusedError("while it ended")

    racing = asyncio.ensure_future(abort.race(work()))
    await asyncio.sleep(0)
    abort.hear("SIGINT")
    with pytest.raises(AbortedError):
        await racing


def test_a_second_stop_is_counted_and_the_first_is_named() -> None:
    heard: list[tuple[str, str, int]] = []
    abort = Abort(on_request=lambda how, choice, count: heard.append((how, choice, count)))
    stop = abort.of_target()
    abort.request("SIGINT")
    abort.request("attach", "rollback")
    assert heard == [("SIGINT", "", 1), ("attach", "rollback", 2)]
    assert (stop.how, stop.choice) == ("SIGINT", "rollback")


def test_a_choice_is_not_lost_by_a_stop_without_one() -> None:
    stop = Stop()
    stop.hear("attach", "rollback")
    stop.hear("SIGINT")
    assert stop.choice == "rollback"


def test_what_one_target_answers_stays_asked_of_the_others() -> None:
    abort = Abort()
    one, other = abort.of_target(), abort.of_target()
    abort.request("SIGINT")
    one.withdraw()
    one.check()
    with pytest.raises(AbortedError):
        other.check()
    abort.request("SIGTERM")
    assert (one.how, other.how) == ("SIGTERM", "SIGINT")


def test_check_raises_only_after_a_stop() -> None:
    abort = Stop()
    abort.check()
    abort.hear("SIGTERM")
    with pytest.raises(AbortedError, match="SIGTERM"):
        abort.check()


async def test_a_withdrawn_stop_is_gone_and_the_next_one_counts() -> None:
    abort = Stop()
    abort.hear("SIGINT", "wait")
    abort.withdraw()
    assert (abort.requested, abort.choice, abort.how) == (False, "", "")
    abort.check()

    async def work() -> str:
        await asyncio.sleep(0)
        return "went on"

    assert await abort.race(work()) == "went on"
    abort.hear("SIGTERM")
    with pytest.raises(AbortedError, match="SIGTERM"):
        abort.check()


async def test_an_action_finishes_however_often_it_is_cancelled() -> None:
    begun, go, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def action() -> None:
        begun.set()
        await go.wait()
        done.set()

    running = asyncio.ensure_future(shielded(action()))
    await begun.wait()
    for _ in range(3):
        running.cancel()
        await asyncio.sleep(0)
    assert not running.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert done.is_set()


async def test_an_action_that_fails_after_the_cancellation_is_not_left_unheard() -> None:
    go = asyncio.Event()

    async def action() -> None:
        await go.wait()
        raise RefusedError("no room")

    running = asyncio.ensure_future(shielded(action()))
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_without_a_cancellation_an_action_is_what_it_is() -> None:
    async def action() -> int:
        await asyncio.sleep(0)
        return 7

    async def fails() -> None:
        raise RefusedError("no")

    assert await shielded(action()) == 7
    with pytest.raises(RefusedError):
        await shielded(fails())
