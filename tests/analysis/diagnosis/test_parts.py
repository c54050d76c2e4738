"""Complaint, factors, levers, groups and "nothing changed", each by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from console.analysis.diagnosis import window as w
from console.analysis.diagnosis.changed import compare
from console.analysis.diagnosis.complaint import Complaint, filled, stated
from console.analysis.diagnosis.curve import Curve
from console.analysis.diagnosis.factors import judge_factors
from console.analysis.diagnosis.group import Member, odd_members
from console.analysis.diagnosis.hardware import HardwareVerdict, Sign
from console.analysis.diagnosis.levers import levers
from console.analysis.diagnosis.recorded import Cell, curve_of
from console.analysis.diagnosis.window import Excluded, Passive, Window
from console.analysis.statistics.acceptance import draft_positions
from tests.fakes import facts

LAW = Curve(26.3, 0.0201, noise=0.003, df=20, contexts=(300.0, 6000.0), source="the sweep")


def window(context: float, *, factor: float = 1.0, queue: int = 0, accept: float = 2.9) -> Window:
    return Window(0.0, context, 1.0, accept, accept / (factor * LAW.step_ms(context)) * 1000.0, queue)


def seen(count: int = 20, **more: Any) -> Passive:
    return Passive(tuple(window(500.0 + 200 * number, **more) for number in range(count)), (), True, 0.05)


def moved(passive: Passive, **more: Any) -> dict[str, bool | None]:
    given: dict[str, Any] = {"measured": (), "recorded": LAW, "recorded_acceptance": 2.9, "user_acceptance": 2.9}
    given |= {"hardware": HardwareVerdict()} | more
    return {one.name: one.moved for one in judge_factors(passive, **given)}


@pytest.mark.parametrize(("text", "half"), [("2.9", 0.05), ("32", 0.5), ("0.06", 0.005), ("1e2", 0.5)])
def test_a_figure_says_how_exact_it_is(text: str, half: float) -> None:
    assert stated(text).half_unit == pytest.approx(half)


def test_windows_far_from_the_complaint_do_not_speak_for_it() -> None:
    passive = Passive((*seen(5).windows, window(40_000.0, accept=7.8)), (), True)
    told = filled(Complaint(prompt_tokens=1000, output_tokens=200), passive)
    assert told.accept_length is not None
    assert told.accept_length.value == pytest.approx(2.9)


def test_nothing_moved() -> None:
    assert moved(seen()) == {
        "steps": False, "acceptance": False, "queue": False, "prefill": False, "graphs": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("passive", "more", "name"),
    [
        (seen(factor=1.2), {}, "steps"),
        (seen(), {"user_acceptance": 1.9}, "acceptance"),
        (seen(queue=3), {}, "queue"),
        (replace(seen(), prefill_share=0.5), {}, "prefill"),
        (replace(seen(), excluded=(Excluded(w.NO_GRAPH, 5),)), {}, "graphs"),
        (seen(), {"hardware": HardwareVerdict((Sign("tenant", "process 7"),))}, "tenant"),
        (Passive(), {"measured": (Cell(1000, 1316, 2.9e3 / (1.3 * LAW.step_ms(1316)), 2.9),)}, "steps"),
    ],
    ids=["regression", "text", "queue", "prefill", "graphs-off", "tenant", "a-new-sweep"],
)
def test_what_moved_is_named(passive: Passive, more: dict[str, Any], name: str) -> None:
    found = moved(passive, **more)
    assert [one for one, said in found.items() if said] == [name]


def test_without_a_record_a_regression_is_neither_said_nor_ruled_out() -> None:
    assert moved(seen(), recorded=None)["steps"] is None
    assert moved(Passive(), recorded=LAW)["steps"] is None


def test_levers_are_ranked_by_what_the_curve_predicts() -> None:
    found = levers(LAW, 3450.0, 1.0, 2.9)
    assert [one.gain for one in found] == sorted((one.gain for one in found), reverse=True)
    assert found[0].gain == pytest.approx(2.0)
    slope = next(one for one in found if "halved" in one.text)
    assert slope.gain == pytest.approx(LAW.step_ms(3450.0) / (26.3 + 0.01005 * 3450.0))


def test_without_speculation_no_drafter_is_praised() -> None:
    assert not any("drafter" in one.text for one in levers(LAW, 3450.0, 1.0, 1.0, speculative=False))


def test_the_last_positions_of_a_draft_that_are_never_accepted() -> None:
    found = levers(LAW, 3450.0, 1.0, 2.4, positions=(0.8, 0.5, 0.1, 0.03, 0.01))
    shorter = next(one for one in found if one.text.startswith("draft length"))
    assert shorter.text == "draft length 5->3"
    assert shorter.gain == pytest.approx(2.4 / 2.44)
    assert "must be measured" in shorter.evidence


def test_a_last_position_that_is_often_accepted_says_draft_more() -> None:
    found = levers(LAW, 3450.0, 1.0, 3.4, positions=(0.9, 0.8, 0.7))
    longer = next(one for one in found if one.text == "draft length 3->6")
    more = 0.7 * (0.875 + 0.875**2 + 0.875**3)
    assert longer.gain == pytest.approx((3.4 + more) / 3.4)
    assert not any("draft length" in one.text for one in levers(LAW, 3450.0, 1.0, 2.1, positions=(0.6, 0.3, 0.2)))


def test_a_histogram_says_how_often_each_position_was_accepted() -> None:
    # Of 100 steps 40 accepted nothing, 30 one token, 30 two; of a second answer's 100 all accepted one.
    assert draft_positions([(40, 30, 30), (0, 100)]) == (0.8, 0.15)
    assert draft_positions([]) == draft_positions([(), (0, 0)]) == ()


def test_alone_in_the_batch_is_a_lever_of_a_batch() -> None:
    alone = next(one for one in levers(LAW, 3450.0, 4.0, 2.9) if one.text.startswith("alone"))
    assert alone.gain == pytest.approx(LAW.step_ms(3450.0, 4.0) / LAW.step_ms(3450.0))


def test_the_curve_of_a_sweep_needs_three_cells_at_two_contexts() -> None:
    cells = [Cell(x, x + 316, 2.9e3 / LAW.step_ms(x + 316), 2.9) for x in (13, 1663, 3333)]
    curve = curve_of(cells, "s")
    assert curve is not None
    assert curve.intercept_ms == pytest.approx(26.3)
    assert curve_of(cells[:2], "s") is None
    assert curve_of([cells[0]] * 3, "s") is None


def test_the_odd_member_of_a_group() -> None:
    members = {name: Member(96.0, 2.9, "0.5.10") for name in ("a/k", "b/k", "c/k")}
    assert odd_members(members) == ()
    (odd,) = odd_members(members | {"d/k": Member(121.0, 2.9, "0.5.10")})
    assert (odd.target, odd.text) == ("d/k", "step 121 ms, the others 96 ms: 1.26x")
    (odd,) = odd_members(members | {"d/k": Member(96.0, 2.9, "0.5.9")})
    assert odd.text == "engine 0.5.9, the others 0.5.10"
    (odd,) = odd_members(members | {"d/k": Member(96.0, 2.9, "0.5.10", ("software power cap on GPU 3",))})
    assert odd.text == "software power cap on GPU 3"


def test_of_two_that_differ_both_are_named() -> None:
    told = odd_members({"a/k": Member(96.0), "b/k": Member(120.0)})
    assert {one.target for one in told} == {"a/k", "b/k"}


def as_json(**more: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(facts().model_dump_json())
    return {**body, **more}


def test_nothing_changed() -> None:
    told = compare(as_json(), as_json(), "yesterday")
    assert told.nothing
    assert "engine version" in told.same


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ({"serving": {"version": "0.5.9"}}, {"serving": {"version": "0.5.10"}}, "engine version: 0.5.9 -> 0.5.10"),
        (
            {"software": {"packages": ["torch-2.9.0"]}},
            {"software": {"packages": ["torch-2.9.1"]}},
            "packages: torch-2.9.0 -> torch-2.9.1",
        ),
        (
            {"files": [{"path": "/etc/a.service", "sha256": "1"}]},
            {"files": [{"path": "/etc/a.service", "sha256": "2"}]},
            "files that decide the unit: /etc/a.service",
        ),
        (
            {"models": [{"path": "/m/config.json", "sha256": "1", "weights_bytes": 5}]},
            {"models": [{"path": "/m/config.json", "sha256": "1", "weights_bytes": 6}]},
            "model files: /m/config.json",
        ),
        (
            {"unit": {"invocation_id": "a", "n_restarts": 0}},
            {"unit": {"invocation_id": "b", "n_restarts": 3}},
            "the service was restarted since, 3 of them by itself",
        ),
        ({"host": {"boot_id": "a"}}, {"host": {"boot_id": "b"}}, "the host was booted since"),
    ],
)
def test_what_changed_is_named(before: dict[str, Any], now: dict[str, Any], said: str) -> None:
    told = compare(before, now, "yesterday")
    assert said in told.differs
    assert not told.nothing


def test_what_cannot_be_compared_is_not_the_same() -> None:
    told = compare({}, as_json(), "yesterday")
    assert "driver" in told.unknown
    assert told.same == ()
