"""Replicas side by side: each with its figures at one context, and the odd one named."""

from __future__ import annotations

from console.cli.diagnose_group import Replicas
from console.schema.events import ConclusionMade, FactsRead, FindingMade


def heard(slow: str = "", version: str = "0.5.10") -> Replicas:
    replicas = Replicas()
    for name in ("a/k26", "b/k26", "c/k26"):
        factor = 1.3 if name == slow else 1.0
        told = version if name == "c/k26" else "0.5.10"
        replicas.event(FactsRead(target=name, when="plan", facts={"serving": {"version": told}}))
        for finding, value in (("step_time_intercept", 26.3 * factor), ("step_time_slope", 0.0201 * factor)):
            replicas.event(FindingMade(target=name, name=finding, value=value))
        replicas.event(FindingMade(target=name, name="log_step_time", value=95.6, context_tokens=3450))
        replicas.event(FindingMade(target=name, name="log_accept_length", value=2.9))
    return replicas


def test_like_members_are_not_odd() -> None:
    replicas = heard()
    assert replicas.odd() == ()
    lines = list(replicas.lines())
    assert lines[0] == "side by side, at 3,450 tokens:"
    assert lines[-1].strip() == "no member is odd"


def test_the_slow_one_is_named_with_its_figure() -> None:
    (odd,) = heard(slow="b/k26").odd()
    assert odd.target == "b/k26"
    assert odd.text.endswith("1.30x")


def test_another_release_and_a_sign_of_the_hardware_are_odd() -> None:
    replicas = heard(version="0.5.9")
    replicas.event(ConclusionMade(target="a/k26", kind="hardware", text="software power cap on GPU 1"))
    assert {one.target: one.text for one in replicas.odd()} == {
        "a/k26": "software power cap on GPU 1",
        "c/k26": "engine 0.5.9, the others 0.5.10",
    }


def test_one_target_alone_is_compared_with_nothing() -> None:
    replicas = Replicas()
    replicas.event(FindingMade(target="a/k26", name="log_accept_length", value=2.9))
    assert list(replicas.lines()) == []
