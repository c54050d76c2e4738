"""The keys of the step, what a replay keeps of each request, and its bands."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from pydantic import ValidationError

from console.analysis.workload.bands import Goal, bands
from console.analysis.workload.frozen import TraceRequest
from console.analysis.workload.schedule import schedule
from console.engines.base import Request
from console.measure.findings import of_spread
from console.measure.load import Wish
from console.measure.replay import Replay, alphabet
from console.steps.measure_replay import MeasureReplay, of_band, served_of
from tests.measure.made_up import MadeUpEngine, Truth, bench

TRACE = [TraceRequest(index * 700_000, 600 + 100 * (index % 3), 20 + index, 0, (0, 1 + index)) for index in range(12)]


class OnItsOwnTime(Replay):
    """Time in these tests passes for everybody at once, so our own loop is never late."""

    async def _probe(self) -> None:
        self.lags_s.append(0.0)


def replay(truth: Truth, **more: Any) -> OnItsOwnTime:
    plan = schedule(TRACE, 512)
    at = bench(MadeUpEngine(truth=truth))
    base = alphabet(range(1000, 1400))
    wish = Wish(1, len(plan.requests), 1, 1.4, 1)
    chance = random.Random(1)
    return OnItsOwnTime(at, wish, lambda: (), chance, planned=plan.requests, base=base, block_tokens=512, **more)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "trace"),
        ({"trace": "a", "speed": 0}, "greater than 0"),
        ({"trace": "a", "longer": "split"}, "'skip' or 'cut'"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_host_is_asked(fields: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        MeasureReplay.model_validate(fields)


async def test_each_request_is_sent_at_its_moment_with_its_lengths() -> None:
    made = replay(Truth(slope_ms=0.0))
    level = await made.measure()
    assert (level.state, len(level.requests)) == ("measured", 12)
    assert [one.scheduled_s for one in level.requests] == pytest.approx([0.7 * index for index in range(12)])
    served = served_of(made)
    assert [one.input for one in served] == [600 + 100 * (index % 3) for index in range(12)]
    assert [one.output for one in served] == [20 + index for index in range(12)]
    assert [one.known for one in served[:3]] == [0, 512, 512]


async def test_an_answer_that_ended_early_is_no_figure() -> None:
    made = replay(Truth(early_stops=0.5))
    level = await made.measure()
    early = [one for one in level.requests if one.refused == "ended early"]
    assert early
    assert len(served_of(made)) == 12 - len(early)


async def test_bands_have_all_requests_each_once_a_dimension() -> None:
    made = replay(Truth(slope_ms=0.0))
    level = await made.measure()
    found = bands(served_of(made), Goal(ttft_s=100.0))
    for dimension in ("input", "output", "at_once", "reuse"):
        assert sum(band.n for band in found if band.dimension == dimension) == 12
    assert (found[0].label, found[0].good, found[0].n) == ("all", 1.0, 12)
    finding = of_band("node7/chat", found[0], level)
    assert (finding.name, finding.source, finding.unit) == ("replay_band", "all", "s")
    assert {"ttft_p95_s", "itl_p50_ms", "good_percent", "cache_hit_percent"} <= finding.figures.keys()
    assert bands(served_of(made), Goal(ttft_s=1e-9))[0].good == 0.0
    assert bands([], Goal()) == []


def test_a_text_of_few_tokens_writes_no_numbers() -> None:
    with pytest.raises(ValueError, match="64 are needed"):
        alphabet([1, 2, 3] * 100)


async def test_what_earlier_requests_had_is_kept_with_each_request() -> None:
    level = await replay(Truth(slope_ms=0.0)).measure()
    assert [one.known_prompt_tokens for one in level.requests[:3]] == [0, 512, 512]
    assert all(not one.refused for one in level.requests)


class TwoReplicas(MadeUpEngine):
    """One server whose second replica is never given anything."""

    def _said(self, request: Request) -> bytes | None:
        if request.path != "/v1/loads":
            return super()._said(request)
        running = ((0, self.working), (1, 0))
        loads = [{"dp_rank": rank, "num_running_reqs": count, "num_waiting_reqs": 0} for rank, count in running]
        return json.dumps({"loads": loads}).encode()


async def test_how_the_load_lay_over_replicas_is_in_the_record() -> None:
    made = replay(Truth(slope_ms=0.0))
    made.bench.reader = TwoReplicas(truth=Truth(slope_ms=0.0))
    made.bench.clock = made.bench.reader.clock
    level = await made.measure()
    assert [one.name for one in level.replicas] == ["dp0", "dp1"]
    assert level.replicas[0].running >= 1.0
    assert level.replicas[1].running == 0.0
    finding = of_spread("node7/chat", level, 2)
    assert (finding.value, finding.flags) == (100.0, ("hottest dp0", "uneven: above 50 %"))
    assert (await replay(Truth(slope_ms=0.0)).measure()).replicas == ()
