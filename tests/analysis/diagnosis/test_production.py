"""What a log says of the traffic itself: every decode line counts, also those that tell no step."""

from __future__ import annotations

import pytest

from console.analysis.diagnosis.production import production_of
from console.analysis.diagnosis.window import Said
from console.engines.base import LogLine
from console.engines.registry import engine_named


def decode(running: int, throughput: float, queue: int = 0, accept: float = 2.0) -> Said:
    values = {"running": running, "throughput": throughput, "queue": queue, "accept_len": accept}
    return Said(0.0, LogLine("decode", "", values))


def test_seconds_at_work_are_those_of_the_steps_a_line_stands_for() -> None:
    # 40 steps of 2 tokens for each of 4 requests at 160 tokens a second are 2 s; of one request at 80 they are 1 s.
    lines = [decode(4, 160.0, queue=3), decode(1, 80.0), Said(0.0, LogLine("decode", "", {"running": 0}))]
    found = production_of("sglang", lines)
    assert found is not None
    assert (found.lines, found.request_s, found.busy_s, found.queued_most) == (2, 9.0, 3.0, 3)
    assert found.running == 3.0
    assert found.hit is None


def test_a_line_that_counts_an_idle_time_stands_for_a_minute_at_most() -> None:
    found = production_of("sglang", [decode(1, 0.01)])
    assert found is not None
    assert found.busy_s == 60.0


def test_averages_of_ten_seconds_cached_prompts_and_requests_taken_back() -> None:
    found = production_of("vllm", [decode(5, 99.0)])
    assert found is not None
    assert found.request_s == 50.0
    lines = [
        Said(0.0, LogLine("prefill", "", {"new_tokens": 100, "cached_tokens": 300, "queue": 7})),
        Said(0.0, LogLine("pressure", "", {"retracted": 2}, cause="retracted")),
        Said(0.0, LogLine("pressure", "", cause="retracted")),
    ]
    found = production_of("sglang", lines)
    assert found is not None
    assert (found.hit, found.queued_most, found.retracted) == (0.75, 7, 3)
    assert found.running == 0.0


@pytest.mark.parametrize("engine", ["llamacpp", "ollama"])
def test_an_engine_that_does_not_tell_is_not_said_to_be_idle(engine: str) -> None:
    assert production_of(engine, []) is None


def test_vllm_tells_its_share_of_cached_tokens_itself_and_the_newest_of_each_engine_counts() -> None:
    def line(engine: int, hit_rate: float, running: int = 2) -> Said:
        values = {"engine": engine, "running": running, "throughput": 80.0, "hit_rate": hit_rate}
        return Said(0.0, LogLine("decode", "", values))

    found = production_of("vllm", [line(0, 0.1), line(1, 0.4), line(0, 0.8)])
    assert found is not None
    assert found.hit == pytest.approx(0.6)
    idle = production_of("vllm", [line(0, 0.0, running=0)])
    assert idle is not None
    assert idle.hit is None
    text = (
        "(APIServer pid=1) INFO 05-06 11:00:10 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg "
        "generation throughput: 88.1 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.3%, "
        "Prefix cache hit rate: 61.5%"
    )
    read = engine_named("vllm").read_log(text)
    assert read is not None
    assert read.values["hit_rate"] == 0.615
