"""Hot replicas and a new member with a cold cache are named; one that is spared, or no longer new, is not."""

from __future__ import annotations

import pytest

from console.analysis.diagnosis.bottleneck import bottleneck
from console.analysis.diagnosis.placement import Member, placement

DAY = 86_400.0
OLD = [Member("gpu1/a", 3.0, 0.70, DAY), Member("gpu2/a", 3.2, 0.74, 2 * DAY)]


def test_a_new_member_that_is_given_as_much_as_the_others_prefills_cold() -> None:
    found = bottleneck([], [*OLD, Member("gpu3/a", 3.1, 0.08, 720.0)])
    assert found.sentence() == (
        "placement: cold prefills after a scale-out: gpu3/a started 12 min ago and finds 8% of its prompts cached, the "
        "others 72%; 3.1 requests at once against 3.1"
    )
    assert "once it has run as long as the others" in found.signs[0].confirm
    assert "less load to a new member" in found.signs[0].layer


@pytest.mark.parametrize(
    "member",
    [
        Member("gpu3/a", 1.0, 0.08, 720.0),  # spared by whoever places requests
        Member("gpu3/a", 3.1, 0.60, 720.0),  # warm already
        Member("gpu3/a", 3.1, None, 720.0),  # it does not say
    ],
)
def test_no_scale_out_is_blamed(member: Member) -> None:
    assert list(placement([*OLD, member])) == []
    assert bottleneck([], [*OLD, member]).kind is None


def test_a_cache_that_stays_cold_is_not_a_scale_out_nor_are_members_that_all_restarted() -> None:
    restarted = [Member("a", 3.0, 0.7, 800.0), Member("b", 3.0, 0.7, 900.0)]
    for age_s, others in ((DAY, OLD), (None, OLD), (720.0, restarted)):
        (sign,) = placement([*others, Member("gpu3/a", 3.1, 0.08, age_s)])
        assert "scale-out" not in sign.evidence
        assert sign.evidence.startswith("gpu3/a finds 8% of its prompts cached, another 7")


def test_the_hottest_replica_of_one_server_is_named() -> None:
    (sign,) = placement([Member("dp0", 9.0), Member("dp1", 1.0)])
    assert sign.strong
    assert sign.evidence == "dp0 has 9.0 requests at once, dp1 1.0: spread 80% of the mean"
    assert list(placement([Member("dp0", 5.0), Member("dp1", 4.0)])) == []
    assert list(placement([Member("dp0", 5.0)])) == []
