"""One limit is named, two at once are not, and what would decide is said."""

from __future__ import annotations

import pytest

from console.analysis.diagnosis.bottleneck import Seen, bottleneck
from console.analysis.diagnosis.placement import Member

DECODE = [Seen(1, 0.020, 0.2, 5.0, 0.05, 0), Seen(8, 0.022, 0.3, 5.6, 0.40, 0)]
CACHE = [Seen(1, 0.020, 0.2, 5.0, 0.10, 0, hit=0.8), Seen(32, 0.045, 4.0, 16.0, 0.98, 9, hit=0.2)]
QUEUE = [Seen(1, 0.020, 0.2, 5.0, 0.05, 0), Seen(32, 0.030, 9.0, 16.0, 0.30, 20)]
PREFILL = [Seen(1, 0.020, 6.0, 8.0, 0.10, 0), Seen(8, 0.050, 12.0, 20.0, 0.40, 0)]
GROUP = [Member("gpu1/a", 9.0), Member("gpu2/a", 1.0), Member("gpu3/a", 1.5)]


@pytest.mark.parametrize(
    ("levels", "named", "why"),
    [
        (DECODE, "decode bandwidth", "8 times as many streams make a token only 1.10 times as slow"),
        (
            CACHE,
            "KV capacity",
            "the pool is 98% full at 32 streams, 9 requests wait, cached tokens fall from 80% to 20%",
        ),
        (QUEUE, "queueing", "20 requests wait while the pool is 30% full"),
        (PREFILL, "prefill", "60% of a request's time is before its first token"),
    ],
)
def test_one_limit_is_named_with_its_evidence(levels: list[Seen], named: str, why: str) -> None:
    found = bottleneck(levels)
    assert found.kind == named
    assert why in found.sentence()
    sign = next(one for one in found.signs if one.kind == named)
    assert sign.confirm
    assert sign.layer


def test_a_group_of_three_with_one_hot_member_is_placement() -> None:
    found = bottleneck([], GROUP)
    assert found.kind == "placement"
    assert "gpu1/a has 9.0 requests at once, gpu2/a 1.0" in found.sentence()
    even = [Member("gpu1/a", 3.0, 0.7), Member("gpu2/a", 3.2, 0.1), Member("gpu3/a", 2.9, 0.7)]
    assert bottleneck([], even).kind == "placement"
    assert bottleneck([], [Member("gpu1/a", 3.0), Member("gpu2/a", 3.2)]).kind is None


def test_two_at_once_is_inconclusive_and_says_what_tells_them_apart() -> None:
    found = bottleneck(CACHE, GROUP)
    assert found.kind is None
    assert found.sentence().startswith("inconclusive: KV capacity and placement at once; tell them apart: ")
    assert "each member alone with the same load" in found.measure


def test_a_late_client_is_all_that_was_measured() -> None:
    late = [CACHE[0], Seen(32, 0.045, 4.0, 16.0, 0.98, 9, lag_ms=400)]
    assert bottleneck(late).kind == "client"
    # A share of what is measured is no limit: the first token took 4 s.
    assert bottleneck([CACHE[0], Seen(32, 0.045, 4.0, 16.0, 0.98, 9, lag_ms=40)]).kind == "KV capacity"


def test_a_prefill_is_told_beside_a_queue_by_the_level_that_has_none() -> None:
    mixed = [PREFILL[0], Seen(32, 0.045, 40.0, 60.0, 0.98, 9)]
    found = bottleneck(mixed)
    assert found.kind is None
    assert found.sentence().startswith("inconclusive: KV capacity and prefill at once; tell them apart: ")


def test_requests_taken_back_are_the_cache_without_any_load() -> None:
    found = bottleneck([], retracted=3)
    assert found.sentence() == "KV capacity: 3 requests were taken back for lack of room"


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ([], "no load on record"),
        ([Seen(1, 0.02, 0.2, 5.0, 0.1, 0), Seen(2, 0.02, 0.2, 5.0, 0.2, 0)], "only 2 streams were tried"),
        ([Seen(1, 0.02, 0.2, 5.0), Seen(8, 0.05, 0.3, 9.0)], "does not say how full its pool is"),
        ([Seen(1, 0.02, 0.2, 5.0, 0.1, 0), Seen(8, 0.05, 0.3, 9.0, 0.5, 0)], "nothing is near its limit"),
    ],
)
def test_what_is_missing_is_said(levels: list[Seen], said: str) -> None:
    assert said in bottleneck(levels).sentence()
