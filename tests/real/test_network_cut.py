"""The network is gone for a while, and the run goes on; or nobody can tell, and says so."""

from __future__ import annotations

import pytest

from tests.real.cuts import Cuts

pytestmark = [pytest.mark.real_host, pytest.mark.slow]


@pytest.mark.parametrize("name", ["60 s", "12 s"])
def test_run_outlives_a_cut_in_the_wait(cuts: Cuts, name: str) -> None:
    story = cuts.story(name)
    assert story.done.code == 0, story.done.err
    assert story.done.outcome == "verified"
    assert story.everywhere == ("200000", "200000", "200000", "200000")
    assert story.restarts == 1
    assert '"state": "verified"' in story.ledger
    assert story.lock_is_free
    assert story.open_runs == []
    # The host let go of the lock meanwhile, and it was taken again before the run went on.
    assert [event["state"] for event in story.done.of("lock.changed")] == ["held", "lost", "held", "released"]


def test_change_that_nobody_could_see_is_unknown_until_somebody_looks(cuts: Cuts) -> None:
    story = cuts.story("in a change")
    assert story.done.code == 9, story.done.err
    assert story.done.outcome == "unknown"
    assert not story.done.of("undo.started")
    assert story.next is not None
    assert story.next.code == 0, story.next.err
    assert story.next.outcome == "verified"
    assert story.everywhere == ("200000", "200000", "200000", "200000")
    assert story.restarts == 1
    assert story.open_runs == []
