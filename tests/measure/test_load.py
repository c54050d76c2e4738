"""What a load says of its requests: times between tokens, the steady window, refusals."""

from __future__ import annotations

import random
from typing import Any

import pytest

from console.measure.findings import of_level
from console.measure.latencies import between_tokens_s, figures_of
from console.measure.load import LoadLevel, Wish, spread, steady
from console.schema.loads import Level, Sent
from tests.measure.made_up import MadeUpEngine, Truth, bench


def sent(began: float, ended: float, *, first: float = 0.5, tokens: int = 101, first_tokens: int = 1) -> Sent:
    return Sent(
        scheduled_s=began, sent_s=began, first_s=began + first, ended_s=ended, completion_tokens=tokens,
        first_tokens=first_tokens, prompt_tokens=1000,
    )  # fmt: skip


def test_time_between_tokens_is_the_span_over_the_engines_count() -> None:
    assert between_tokens_s(sent(0.0, 10.5)) == 0.1
    assert between_tokens_s(sent(0.0, 10.5, first_tokens=51)) == 0.2
    assert between_tokens_s(sent(0.0, 10.5).model_copy(update={"refused": "ended early"})) is None


def test_the_window_is_while_nearly_all_are_at_work() -> None:
    assert steady([sent(0.0, 10.0), sent(1.0, 9.0), sent(9.0, 12.0)]) == (1.0, 10.0)
    assert steady([]) is None


class OnItsOwnTime(LoadLevel):
    """Time in these tests passes for everybody at once, so our own loop is never late."""

    async def _probe(self) -> None:
        self.lags_s.append(0.0)


async def one_stream(truth: Truth, **engine: Any) -> Level:
    at = bench(MadeUpEngine(truth=truth, **engine))
    wish = Wish(streams=1, requests=8, output_tokens=256, gpus=2)
    chance = random.Random(2)
    return await OnItsOwnTime(at, wish, lambda: tuple(chance.choices(range(9, 99), k=500)), chance).measure()


async def test_one_stream_has_the_engines_own_pace() -> None:
    truth = Truth(slope_ms=0.0, caches=False)
    level = await one_stream(truth)
    assert (level.state, len(level.requests)) == ("measured", 8)
    gaps = [between_tokens_s(one) for one in level.requests]
    assert all(gap is not None and abs(gap / (0.020 / 3) - 1) < 0.02 for gap in gaps)
    finding = of_level("node7/chat", level, "prose")
    assert (finding.name, finding.unit, finding.n) == ("load_throughput", "tok/min/GPU", 8)
    assert "p95 is max of 8, 72 are needed" in finding.flags


async def test_somebody_else_on_the_server_is_refused() -> None:
    level = await one_stream(Truth(), others=lambda _at, _sent: 1)
    assert (level.state, level.reason) == ("refused", "server busy")
    assert of_level("node7/chat", level, "prose").name == "not_measured"


async def test_what_the_engine_refuses_is_quoted() -> None:
    level = await one_stream(Truth(refuses="The input is too long."))
    assert (level.state, level.reason) == ("refused", "The input is too long.")


def test_times_count_from_when_a_request_should_have_been_sent() -> None:
    held_up = sent(2.0, 12.5).model_copy(update={"scheduled_s": 0.0})
    figures, said = figures_of([held_up])
    assert (figures["ttft_p50_s"], figures["e2e_p50_s"], figures["itl_p50_ms"]) == (2.5, 12.5, 100.0)
    assert (figures["ttft_n"], figures["e2e_n"]) == (1, 1)
    assert said == ("p95 is max of 1, 72 are needed",)


class Late(LoadLevel):
    """Our own loop is `late_s` late whenever it looks."""

    late_s = 0.0

    async def _probe(self) -> None:
        self.lags_s += [self.late_s] * 100


@pytest.mark.parametrize(
    ("late_s", "state", "said"),
    [(0.002, "measured", ""), (0.03, "refused", "time to the first token"), (0.009, "refused", "than a token takes")],
)
async def test_a_client_that_does_not_keep_up_is_refused(late_s: float, state: str, said: str) -> None:
    at = bench(MadeUpEngine(truth=Truth(slope_ms=0.0, caches=False, overhead_s=0.3)))
    chance = random.Random(2)
    level = Late(at, Wish(1, 8, 256), lambda: tuple(chance.choices(range(9, 99), k=500)), chance)
    level.late_s = late_s
    found = await level.measure()
    assert found.state == state
    assert said in found.reason
    assert (found.reason != "") == found.reason.startswith("the client is the bottleneck")


def test_tokens_counted_at_the_end_only_are_spread_over_the_answer() -> None:
    assert spread(1.0, 3.0, 5) == [(1.0, 1), (1.5, 2), (2.0, 3), (2.5, 4), (3.0, 5)]
    assert spread(None, 3.0, 5) == [(3.0, 5)]
