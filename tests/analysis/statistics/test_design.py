"""Which requests come next, and when there are enough."""

from __future__ import annotations

import random

import pytest

from console.analysis.statistics.design import Design, abba, delta_for, look


def test_a_drift_that_grows_in_a_line_favours_neither_arm() -> None:
    order = abba(4)
    assert order == ("short", "long", "long", "short", "short", "long", "long", "short")
    assert sum(i for i, arm in enumerate(order) if arm == "short") == sum(
        i for i, arm in enumerate(order) if arm == "long"
    )


def test_the_pilot_decides_how_far_apart_the_arms_are() -> None:
    assert delta_for([0.50, 0.51, 0.49], 160) == 568
    assert delta_for([0.40, 0.50, 0.60], 160) == 1920
    assert delta_for([0.40, 0.50, 0.60], 160, most=1000) == 1000


def run(design: Design, spread_s: float, seed: int, lost: float = 0.0) -> tuple[int, int, tuple[str, ...], float]:
    rng = random.Random(seed)
    times: dict[str, list[float]] = {"short": [], "long": []}
    wanted = abba(design.start)
    sent = 0
    while wanted:
        for arm in wanted:
            sent += 1
            if rng.random() >= lost:
                tokens = design.short_tokens if arm == "short" else design.long_tokens
                times[arm].append(0.35 + tokens / 160 + rng.gauss(0, spread_s))
        if not (times["short"] and times["long"]):
            continue
        now = look(times["short"], times["long"], design)
        wanted = now.wanted
    return sent, len(times["short"]) + len(times["long"]), now.rate.flags, now.rate.value


def test_a_quiet_path_needs_ten_requests() -> None:
    assert run(Design(), 0.002, 1)[:3] == (10, 10, ())


def test_a_noisy_path_ends_at_the_most_and_says_so() -> None:
    sent, used, flags, _ = run(Design(), 0.3, 1)
    assert (sent, used) == (24, 24)
    assert "target not reached" in flags


def test_lost_replies_are_made_up_for_in_the_arm_that_lost_them() -> None:
    sent, used, flags, value = run(Design(), 0.002, 3, lost=0.3)
    assert used == 10
    assert sent > used
    assert flags == ()
    assert value == pytest.approx(160, rel=0.01)
    assert look([0.5, 0.5], [4.0, 4.0, 4.0, 4.0]).wanted == ("short", "short")


def test_stopping_at_the_first_good_look_still_covers() -> None:
    held = sum(abs(run(Design(), 0.03, seed)[3] / 160 - 1) < 0.015 for seed in range(60))
    assert held >= 57


def test_a_design_without_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        Design(start=0)
    with pytest.raises(ValueError, match="start at most"):
        Design(start=13)
