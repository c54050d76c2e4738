"""What a replay sends is decided beforehand, the same every time, and its prompts share what the trace's shared."""

from __future__ import annotations

from console.analysis.workload.frozen import TraceRequest
from console.analysis.workload.schedule import schedule, synthetic

TRACE = [
    TraceRequest(0, 1000, 20, 1, (0, 1)),
    TraceRequest(500_000, 1500, 30, 2, (0, 2, 3)),
    TraceRequest(900_000, 1500, 30, 1, (0, 1, 4)),
    TraceRequest(70_000_000, 400, 9, 3, (5,)),
]


def test_twice_the_same_hash_and_another_for_another_speed() -> None:
    first, again = schedule(TRACE, 512), schedule(TRACE, 512)
    assert first.sha256 == again.sha256
    fast = schedule(TRACE, 512, speed=2)
    assert fast.sha256 != first.sha256
    assert [one.at_s for one in fast.requests] == [0, 0.25, 0.45, 35]
    assert len(schedule(TRACE, 512, minutes=1).requests) == 3


def test_known_prompt_tokens_are_the_run_of_known_blocks() -> None:
    assert [one.known for one in schedule(TRACE, 512).requests] == [0, 512, 1024, 0]


def test_what_the_target_cannot_hold_is_named_and_left_out_or_cut() -> None:
    left_out = schedule(TRACE, 512, most_tokens=1100)
    assert left_out.longer == (2, 3)
    assert "2 requests are longer than the target holds, left out (line 2, 3)" in left_out.sentence()
    cut = schedule(TRACE, 512, most_tokens=1100, policy="cut")
    assert [one.input + one.output for one in cut.requests] == [1020, 1100, 1100, 409]


def test_shards_are_whole_sessions_and_together_the_whole() -> None:
    parts = [schedule(TRACE, 512, shard=index, shards=2).requests for index in range(2)]
    assert sorted(one.line for part in parts for one in part) == [1, 2, 3, 4]
    assert {one.session for one in parts[0]}.isdisjoint({one.session for one in parts[1]})


def test_prompts_share_exactly_the_blocks_that_the_trace_shared() -> None:
    base = tuple(range(100, 900))
    one, two, three, _ = (synthetic(each, base, 512) for each in schedule(TRACE, 512).requests)
    assert (len(one), len(two), len(three)) == (1000, 1500, 1500)
    assert one[:512] == two[:512]
    assert one[512:520] != two[512:520]
    assert three[:1000] == one
    # Without blocks nothing is shared.
    plain = schedule([TraceRequest(0, 300, 5), TraceRequest(1, 300, 5)], 0).requests
    first, second = (synthetic(each, base, 0) for each in plain)
    assert (len(first), first[:8] != second[:8]) == (300, True)
