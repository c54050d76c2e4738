"""A group's load is compared over one time, and a member that does not say its own is counted."""

from __future__ import annotations

from console.cli.diagnose_bottleneck import Members
from console.schema.events import ConclusionMade, FindingMade


def heard(**request_s: float | None) -> Members:
    members = Members()
    for name, seconds in request_s.items():
        target = f"{name}/k26"
        if seconds is not None:
            figures = {"request_s": seconds, "busy_s": min(seconds, 100.0)}
            members.event(FindingMade(target=target, name="running_requests", value=0, figures=figures))
        members.event(ConclusionMade(target=target, kind="bottleneck", text="inconclusive: no load on record"))
    return members


def test_the_hot_one_of_three_is_placement_even_if_the_others_were_busy_for_a_moment_only() -> None:
    found = heard(a=900.0, b=20.0, c=10.0).group()
    assert found.startswith("placement: a/k26 has 9.0 requests at once, c/k26 0.1: ")


def test_even_load_silence_and_no_load_are_told_apart() -> None:
    assert heard(a=300.0, b=310.0, c=None).group() == "load is even over 2 members; 1 say nothing of theirs"
    assert heard(a=0.0, b=0.0).group() == "no load in any member's log: look again when there is some"


def test_each_member_has_its_room_and_what_is_not_exposed() -> None:
    members = heard(a=1.0)
    members.event(FindingMade(target="a/k26", name="room", value=24, context_tokens=4096))
    members.event(FindingMade(target="a/k26", name="drafter_share", value="not exposed"))
    lines = [line.rstrip() for line in members.lines()]
    assert lines[0] == "a/k26: inconclusive: no load on record"
    assert lines[1:] == ["context  at once", "   4096       24", "drafter's share of a step: not exposed"]


def test_a_new_member_is_taken_by_what_it_did_since_it_started() -> None:
    members = Members()
    for name, figures in {
        "a": {"request_s": 3000.0, "hit_percent": 70.0, "age_s": 90_000.0},
        "b": {"request_s": 3100.0, "hit_percent": 75.0, "age_s": 90_000.0},
        # Before its start another process of this unit was as busy and as warm as the others are.
        "c": {"request_s": 2900.0, "new_request_s": 600.0, "hit_percent": 60.0, "new_hit_percent": 5.0, "age_s": 600.0},
    }.items():
        told = figures | {"busy_s": 1000.0}
        members.event(FindingMade(target=f"{name}/k26", name="running_requests", value=0, figures=told))
        members.event(ConclusionMade(target=f"{name}/k26", kind="bottleneck", text="inconclusive: no load on record"))
    assert members.group() == "load is even over 3 members"  # one request at once against three: it is spared
    told = {"request_s": 2900.0, "new_request_s": 1800.0, "busy_s": 1000.0, "new_hit_percent": 5.0, "age_s": 600.0}
    members.event(FindingMade(target="c/k26", name="running_requests", value=0, figures=told))
    found = members.group()
    assert found.startswith("placement: cold prefills after a scale-out: c/k26 started 10 min ago and finds 5%")
    assert "would confirm it: look again once it has run as long" in found
