"""Taking a target out of its balancer is planned only where it is restarted, has a hook, and enough others serve."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

import pytest

from console.errors import InvalidFileError, RefusedError
from console.planning import lint
from console.planning.plan import make_plan
from console.schema.change import BalancerChange
from console.schema.facts import Facts
from console.schema.group import GroupSeen, Member
from console.schema.hosts import Balancer
from console.schema.plan import Plan
from console.schema.runbook import parse_runbook
from console.secrets import Redactor
from tests.fakes import SGLANG, UNIT, FakeClock, facts, target

BOOK = """\
schema = 1
name = "book"
[[step]]
uses = "lb.out"
[[step]]
uses = "service.drain"
[[step]]
uses = "unit.set"
setting = "context_length"
to = 200000
[[step]]
uses = "service.restart"
[[step]]
uses = "lb.in"
"""
HOOK = Balancer.model_validate({"out": "lbctl drain {{ host.name }}", "in": "POST http://lb/ready {{ service.name }}"})


def group(*others: Member, hook: Balancer | None = HOOK, min_ready: int = 1) -> GroupSeen:
    return GroupSeen(name="chat", min_ready=min_ready, others=others, balancer=hook)


def member(number: int, *, ready: bool = True, context: int | None = 32768, **more: Any) -> Member:
    return Member(name=f"node{number}/chat", ready=ready, context_tokens=context, **more)


def made(front: Sequence[GroupSeen], seen: Facts | None = None) -> Plan:
    runbook = parse_runbook(BOOK, tomllib.loads(BOOK), "book.toml")
    lint.lint(runbook)
    at = FakeClock().now()
    return make_plan(runbook, target(), seen or facts(), SGLANG, {}, redactor=Redactor(), now=at, front=front)


def skipped(plan: Plan, uses: str) -> str:
    return next(step.skipped for step in plan.steps if step.uses == uses)


def test_both_ways_are_changes_that_say_where_they_run() -> None:
    plan = made([group(member(8))])
    out, into = (change for change in plan.changes if isinstance(change, BalancerChange))
    assert (out.way, out.out, out.back) == ("out", "lbctl drain node7", "POST http://lb/ready chat")
    assert into.way == "in"
    titles = [step.title for step in plan.steps if step.uses.startswith("lb.")]
    assert titles == [
        "take node7/chat out of the balancer of chat (on the host: lbctl drain node7)",
        "put node7/chat into the balancer of chat (on the host: POST http://lb/ready chat)",
    ]
    assert plan.changes[0] is out  # before anything is written
    assert plan.changes[-1] is into


@pytest.mark.parametrize(
    ("front", "said"),
    [([], "it is in no group"), ([group(member(8), hook=None)], "no balancer hook is set for group chat")],
)
def test_without_a_hook_it_stays_in_and_that_is_said(front: list[GroupSeen], said: str) -> None:
    plan = made(front)
    assert said in skipped(plan, "lb.out")
    assert said in skipped(plan, "lb.in")
    assert not any(isinstance(change, BalancerChange) for change in plan.changes)


def test_nobody_is_taken_out_where_nothing_is_restarted() -> None:
    plan = made([group(member(8, ready=False))], facts(UNIT.replace("32768", "200000")))
    assert plan.nothing_to_do
    assert skipped(plan, "lb.out") == skipped(plan, "lb.in") == skipped(plan, "service.drain") == "nothing is restarted"


def test_refused_where_too_few_would_serve() -> None:
    with pytest.raises(
        RefusedError, match=r"1 of group chat would serve, fewer than its min_ready = 2 \(node9/chat: down"
    ):
        made([group(member(8), member(9, ready=False, why="down"), min_ready=2)])


def test_a_hook_refers_to_its_member_alone() -> None:
    hook = Balancer.model_validate({"out": "lbctl {{ facts.model }}", "in": "true"})
    with pytest.raises(InvalidFileError, match=r"balancer's hook of node7/chat: unknown reference 'facts\.model'"):
        made([group(member(8), hook=hook)])


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([member(8), member(9)], ["group chat will be mixed: 2 of 3 still refuse above 32768"]),
        ([member(8, context=200000), member(9)], ["group chat will be mixed: 1 of 3 still refuse above 32768"]),
        ([member(8, of_run=True), member(9, context=200000)], []),
        (
            [member(8, context=200000), member(9, context=400000)],
            ["group chat will be mixed: 2 of 3 still refuse above 200000"],
        ),
        ([member(8, context=None), member(9, context=200000)], ["group chat may be mixed: 1 of 3 could not be seen"]),
    ],
)  # fmt: skip
def test_the_plan_warns_of_a_mixed_group(others: list[Member], said: list[str]) -> None:
    assert [text for text in made([group(*others)]).warnings if text.startswith("group")] == said
