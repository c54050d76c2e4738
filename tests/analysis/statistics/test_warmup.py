"""A fresh server's first requests are not measured with."""

from __future__ import annotations

from console.analysis.statistics.warmup import WarmUp, warm_up


def test_the_first_is_always_discarded() -> None:
    assert warm_up([3.5, 0.50, 0.51, 0.50, 0.51]) == WarmUp(1, True, False)
    assert warm_up([0.5, 0.50, 0.51, 0.50, 0.51]) == WarmUp(1, True, False)


def test_it_goes_on_while_requests_still_get_faster() -> None:
    assert warm_up([3.5, 1.2, 0.9, 0.7, 0.6, 0.51, 0.50, 0.51, 0.50]).discard == 5


def test_more_requests_are_asked_for_until_it_can_be_told() -> None:
    assert warm_up([]) == WarmUp(0, False, True)
    assert warm_up([3.5, 0.5, 0.5]) == WarmUp(1, False, True)


def test_a_server_that_never_settles_is_given_up_and_said_so() -> None:
    falling = [10.0 * 0.8**i for i in range(10)]
    assert warm_up(falling) == WarmUp(6, False, False)
