"""Targets of one run tell each other what they found, and nobody waits for one that is gone or has no place yet."""

from __future__ import annotations

import asyncio

from console.analysis.diagnosis.group import Replica
from console.schema.events import ConclusionMade, Event, FindingMade
from console.steps.diagnosis_events import beside_others
from console.steps.together import Together


def replica(factor: float = 1.0) -> Replica:
    return Replica(26.3 * factor, 0.0201 * factor, 3450.0, 2.9, "0.5.10")


async def test_each_hears_all_that_are_under_way() -> None:
    together = Together()
    for name in ("a/k", "b/k", "c/k"):
        together.begins(name)
    first = asyncio.ensure_future(together.others("a/k", replica()))
    await asyncio.sleep(0)
    assert not first.done()
    together.ends("c/k")  # it failed and told nothing
    assert set(await together.others("b/k", replica(1.3))) == {"a/k", "b/k"}
    assert set(await first) == {"a/k", "b/k"}
    # One that had no place before is compared with those that are done.
    together.begins("d/k")
    assert set(await together.others("d/k", replica())) == {"a/k", "b/k", "d/k"}


def said(name: str, replicas: dict[str, Replica]) -> list[Event]:
    return list(beside_others(name, replicas))


def test_the_odd_one_is_named_in_the_record_of_each() -> None:
    three = {"a/k": replica(), "b/k": replica(1.3), "c/k": replica()}
    finding, noted = said("b/k", three)
    assert isinstance(finding, FindingMade)
    assert (finding.name, finding.value, finding.n, finding.context_tokens) == ("odd_member", "b/k", 3, 3450)
    assert finding.source == "step 124 ms, the others 95.6 ms: 1.30x"
    assert isinstance(noted, ConclusionMade)
    assert noted.text.startswith("among 3 replicas this one is odd: step 124 ms")
    assert "b/k is odd" in str(said("a/k", three)[1])


def test_like_replicas_say_so_and_one_alone_says_nothing() -> None:
    (noted,) = said("a/k", {"a/k": replica(), "b/k": replica()})
    assert "no member is odd" in str(noted)
    assert said("a/k", {"a/k": replica()}) == []
