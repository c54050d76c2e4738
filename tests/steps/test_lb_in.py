"""Putting a target into its balancer again is planned with the hook that takes it out; alone, it is a change, too."""

from __future__ import annotations

from console.schema.change import BalancerChange
from console.schema.group import GroupSeen
from console.schema.hosts import Balancer
from console.steps.base import Look, Skip
from console.steps.lb_in import LbIn
from tests.fakes import SGLANG, effective, facts, target


def look(*groups: GroupSeen) -> Look:
    unit = effective("[Service]\nExecStart=/bin/true\n")
    return Look(target(), facts(), SGLANG, unit, "in", "c9", timeout_s=5.0, groups=groups)


def test_it_knows_both_ways_and_where_they_run() -> None:
    hook = Balancer.model_validate({"out": "drain", "in": "ready", "runs": "console", "token_env": "LB"})
    (change,) = LbIn().plan(look(GroupSeen(name="chat", min_ready=1, balancer=hook)))
    assert isinstance(change, BalancerChange)
    assert (change.way, change.action, change.out, change.token_env) == ("in", "ready", "drain", "LB")
    assert (change.id, change.step, change.timeout_s) == ("c9", "in", 5.0)
    assert change.summary == "put node7/chat into the balancer of chat (on the machine of the console: ready)"


def test_without_a_hook_there_is_nothing_to_do() -> None:
    (skip,) = LbIn().plan(look())
    assert isinstance(skip, Skip)
