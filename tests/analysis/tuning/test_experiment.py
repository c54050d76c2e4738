"""What an experiment runs next, decides and ends with, all from its results."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from console.analysis.tuning.experiment import (
    Candidate,
    Result,
    Spec,
    Standing,
    Unsure,
    order,
    pareto,
    spread,
    standing,
)
from console.analysis.tuning.objective import parse_objective

GOAL = parse_objective("tokens/min/GPU max while p95 TTFT < 2 s")
BASE, MEMORY, CACHE = (Candidate(name, ()) for name in ("base", "memory", "cache"))

# name → tokens a minute and GPU, p95 TTFT, whether its gate holds
Truth = dict[str, tuple[float, float, bool]]
FAST: Truth = {"base": (1000, 3.0, True), "memory": (1010, 1.5, True), "cache": (1300, 1.4, True)}


def spec(*candidates: Candidate, **more: object) -> Spec:
    return Spec(GOAL, BASE, candidates, **({"restarts": 3} | more))  # type: ignore[arg-type]


def conduct(
    wanted: Spec, truth: Truth, *, seed: int = 1, stop: Callable[[int], bool] = lambda _: False
) -> tuple[list[Result], Standing]:
    chance = random.Random(seed)
    results: list[Result] = []
    while (now := standing(wanted, results)).next_arm is not None and not stop(len(results)):
        rate, ttft, ok = truth[now.next_arm]
        figures = {"tok_min_gpu": [rate * chance.gauss(1, 0.005)], "ttft_p95_s": [ttft]}
        results.append(
            Result(now.next_arm, now.versus, figures if ok else {}, ok=ok, minutes=2.0, why="" if ok else "gate")
        )
    return results, now


def test_sides_come_as_abba() -> None:
    assert "".join(order(4)) == "abbaabba"
    results, _ = conduct(spec(MEMORY), FAST)
    assert [one.arm for one in results] == ["base", "memory", "memory", "base", "base", "memory"]


def test_what_keeps_its_bounds_is_kept_and_the_next_is_tried_on_top_of_it() -> None:
    results, now = conduct(spec(MEMORY, CACHE), FAST)
    assert [(one.candidate, one.against, one.verdict) for one in now.decisions] == [
        ("memory", "base", "keep"),
        ("cache", "memory", "keep"),
    ]
    assert "keeps every bound, base did not" in now.decisions[0].why
    assert (now.kept, now.ended) == ("cache", "every candidate was tried")
    assert pareto(spec(MEMORY, CACHE), results) == ("cache",)


def test_until_met_stops_at_the_first_that_meets() -> None:
    _, now = conduct(spec(MEMORY, CACHE, until_met=True), FAST)
    assert (now.kept, len(now.decisions)) == ("memory", 1)
    assert "memory keeps every bound" in now.ended


def test_no_difference_and_a_lost_bound_and_a_failed_gate_are_rolled_back() -> None:
    truth: Truth = {"base": (1000, 1.0, True), "memory": (1000, 1.0, True), "cache": (2000, 5.0, True)}
    _, now = conduct(spec(MEMORY, CACHE), truth)
    assert [one.verdict for one in now.decisions] == ["roll back", "roll back"]
    assert "no difference shown" in now.decisions[0].why
    assert "ttft_p95_s < 2 is not kept (5)" in now.decisions[1].why
    results, now = conduct(spec(CACHE), {**truth, "cache": (0, 0, False)})
    assert (now.decisions[0].verdict, now.decisions[0].why, len(results)) == ("roll back", "gate", 2)


def test_it_goes_on_from_its_results_alone() -> None:
    whole, _ = conduct(spec(MEMORY, CACHE), FAST)
    for cut in range(len(whole)):
        now = standing(spec(MEMORY, CACHE), whole[:cut])
        assert (now.next_arm, now.versus) == (whole[cut].arm, whole[cut].versus)


def test_a_budget_ends_it_and_what_was_in_force_stays() -> None:
    results, now = conduct(spec(MEMORY, most_restarts=4), FAST)
    assert (len(results), now.kept, now.settle) == (4, "base", "base")
    assert "4 restarts is spent" in now.ended
    assert "minutes is spent" in conduct(spec(MEMORY, most_minutes=5.0), FAST)[1].ended


def test_a_limit_that_moved_ends_it() -> None:
    results, _ = conduct(spec(MEMORY), FAST)
    told = [Result(one.arm, one.versus, one.figures, limit="kv" if one.arm == "base" else "decode") for one in results]
    assert "moved from kv to decode" in standing(spec(MEMORY, CACHE), told).ended


def results_of(rates: dict[str, list[float]], limit: str = "") -> list[Result]:
    """One run for each rate of an arm, all of the comparison with `memory`."""
    return [
        Result(arm, "memory", {"tok_min_gpu": [rate], "ttft_p95_s": [1.0]}, limit=limit, layer="a CPU cache tier")
        for arm, values in rates.items()
        for rate in values
    ]


@pytest.mark.parametrize(
    ("policy", "verdict", "ended"),
    [
        ("roll back", "roll back", "every candidate was tried"),
        ("keep", "keep", "every candidate was tried"),
        ("stop", "roll back", "of memory nothing can be told: more restarts than 3 a side are needed"),
    ],
)
def test_what_cannot_be_told_has_a_policy_of_its_own(policy: Unsure, verdict: str, ended: str) -> None:
    wide = results_of({"base": [900, 1000, 1100], "memory": [930, 1010, 1090]})
    now = standing(spec(MEMORY, inconclusive=policy), wide)
    assert (now.decisions[0].verdict, now.ended, now.decisions[0].unsure) == (verdict, ended, True)
    assert "would not show" in now.decisions[0].why
    sure = results_of({"base": [1000, 1001, 1002], "memory": [1001, 1000, 1002]})
    now = standing(spec(MEMORY, inconclusive=policy), sure)
    assert (now.decisions[0].verdict, now.decisions[0].unsure) == ("roll back", False)


def test_the_limit_of_what_is_kept_and_the_layer_after_it_stand_at_the_end() -> None:
    better = results_of({"base": [1000, 1001, 1002], "memory": [1201, 1200, 1202]}, limit="KV capacity")
    now = standing(spec(MEMORY), better)
    assert (now.kept, now.limit, now.layer) == ("memory", "KV capacity", "a CPU cache tier")
    assert standing(spec(MEMORY), []).limit == ""


def test_a_figure_has_an_interval_over_restarts() -> None:
    found = results_of({"base": [1000, 1010, 990], "memory": [1]})
    assert spread(found, "base", "tok_min_gpu") == pytest.approx(4.3027 * 10 / 3**0.5, rel=1e-4)
    assert spread(found, "memory", "tok_min_gpu") is None
    assert spread(found, "base", "decode_tok_s") is None
