"""The fleet is looked at cheaply and seldom, and not at all where something is measured."""

from __future__ import annotations

import os
from itertools import pairwise

from console.clock import SystemClock
from console.errors import UnreachableError
from console.secrets import Redactor
from console.tui.held import measured_now
from console.tui.polling import BEGUN_AT_ONCE, Poller
from console.tui.session import Seen, Session, World
from console.tui.targets import standing
from tests.tui import made_up
from tests.tui.conftest import Starts
from tests.views import story


class Hand(SystemClock):
    """Time that a test moves."""

    at = 1000.0

    def monotonic(self) -> float:
        return self.at


def poller(looks: made_up.FakeLooks, *hosts: str) -> tuple[Poller, Session, Hand]:
    clock = Hand()
    fleet = made_up.inventory(hosts=hosts or ("node7",))
    session = Session(dict(os.environ), Redactor(), clock).know(World(fleet, looks, Starts()))
    return Poller(session, lambda _name: None), session, clock


async def test_the_first_look_is_whole_and_the_next_ones_are_glances(
    looks: made_up.FakeLooks, state_home: object
) -> None:
    poll, session, clock = poller(looks)
    for seconds in (0.0, 9.0, 2.0, 2.0):
        clock.at += seconds
        poll.due()
        await poll.settled()
    assert (looks.looked, looks.glanced) == (["node7/chat"], ["node7/chat"])
    poll.focused = False
    clock.at += 11.0
    poll.due()
    await poll.settled()
    clock.at += 11.0
    poll.due()
    await poll.settled()
    assert len(looks.glanced) == 2
    assert session.seen["node7/chat"].facts is not None


async def test_a_host_that_does_not_answer_is_asked_less_and_less(looks: made_up.FakeLooks, state_home: object) -> None:
    looks.known["node7/chat"] = UnreachableError("no route", where="node7")
    poll, session, clock = poller(looks)
    asked = []
    for _ in range(400):
        before = len(looks.looked)
        poll.due()
        await poll.settled()
        asked += [clock.at] if len(looks.looked) > before else []
        clock.at += 1.0
    gaps = [round(later - first) for first, later in pairwise(asked)]
    assert gaps[:5] == [10, 20, 40, 80, 120]
    assert session.seen["node7/chat"].failures == len(asked)


async def test_what_is_measured_is_not_looked_at(looks: made_up.FakeLooks, state_home: object) -> None:
    poll, session, _ = poller(looks, "node7", "node8")
    measuring = story.begin("verify").model_copy(update={"uses": "measure.decode", "step": "rate", "seq": 500})
    directory = made_up.write_run(session.base, [*story.verified()[:-3], measuring], owned=True)
    poll.held = measured_now(session)
    assert poll.held == {"node7/chat": f"measured by {made_up.RUN}"}
    poll.due()
    await poll.settled()
    assert looks.looked == ["node8/chat"]
    assert session.seen["node7/chat"] == Seen(held=f"measured by {made_up.RUN}")
    directory.release()
    assert measured_now(session) == {}


async def test_hundreds_that_are_due_are_begun_some_at_a_time(looks: made_up.FakeLooks, state_home: object) -> None:
    poll, session, _ = poller(looks, *(f"node{number}" for number in range(BEGUN_AT_ONCE + 3)))
    assert poll.due()
    assert sum(seen.reading for seen in session.seen.values()) == BEGUN_AT_ONCE
    assert {standing(poll.seen(target), 0.0) for target in session.targets.values()} == {("..", "reading")}
    assert not poll.due()
    await poll.settled()
    assert len(looks.looked) == BEGUN_AT_ONCE + 3
