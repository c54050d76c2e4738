"""Long sessions that are computed again are told from long sessions that are found, and from too few of them."""

from __future__ import annotations

from console.analysis.diagnosis.bottleneck import Seen, bottleneck
from console.analysis.diagnosis.session_length import Found, falling


def sessions(shares: tuple[float, float, float], each: int = 10) -> list[Found]:
    """Requests with beginnings of 1,000 tokens and more, of which so much is found, by thirds of their length."""
    lengths = [1000 + 50 * index for index in range(3 * each)] if each < 4 else []
    lengths = lengths or [*range(1000, 1000 + each), *range(4000, 4000 + each), *range(9000, 9000 + each)]
    return [Found(known, round(known * shares[index // each])) for index, known in enumerate(lengths)]


def test_a_share_that_falls_with_length_is_the_cache() -> None:
    seen = falling(sessions((0.95, 0.7, 0.2)))
    assert seen is not None
    assert "95% is found up to 1,009 tokens and 20% from 9,000 on" in seen.evidence
    assert seen.again == sum(one.known - one.cached for one in sessions((0.95, 0.7, 0.2)))
    found = bottleneck([Seen(8, 0.02, 0.2, 5.0, 0.6, 0, sessions=seen)])
    assert found.kind == "KV capacity"
    assert "tokens computed again" in found.sentence()
    assert "half the sessions at once" in found.signs[0].confirm
    assert "CPU cache tier" in found.signs[0].layer


def test_with_several_replicas_it_is_a_sign_only() -> None:
    found = bottleneck([Seen(8, 0.02, 0.2, 5.0, 0.6, 0, sessions=falling(sessions((0.95, 0.7, 0.2))), replicas=4)])
    assert found.kind is None
    assert "with 4 replicas a session may have changed over" in found.signs[0].evidence


def test_what_does_not_fall_with_length_is_not_named() -> None:
    assert falling(sessions((0.9, 0.9, 0.85))) is None  # found at any length
    assert falling(sessions((0.2, 0.2, 0.2))) is None  # found at none: it is not the length
    assert falling(sessions((0.2, 0.7, 0.95))) is None
    assert falling(sessions((0.9, 0.1, 0.5))) is None  # neither is this
    assert falling(sessions((0.95, 0.7, 0.2), each=7)) is None  # too few
    alike = [Found(1000 + index, 950 - 30 * index) for index in range(30)]
    assert falling(alike) is None
    # Prompts that nobody sent before are no sessions.
    assert falling([Found(0, 0)] * 90) is None
    assert bottleneck([Seen(8, 0.02, 0.2, 5.0, 0.6, 0)]).signs == ()


def test_two_signs_of_one_limit_are_one_limit() -> None:
    seen = falling(sessions((0.95, 0.7, 0.2)))
    levels = [Seen(1, 0.020, 0.2, 5.0, 0.1, 0, hit=0.8), Seen(32, 0.045, 4.0, 16.0, 0.98, 9, hit=0.2, sessions=seen)]
    found = bottleneck(levels, retracted=2)
    assert found.kind == "KV capacity"
    assert found.sentence().startswith("KV capacity: 2 requests were taken back for lack of room; the pool is 98% full")
    assert "computed again" in found.sentence()
