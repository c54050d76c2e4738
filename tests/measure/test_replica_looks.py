"""Where a load's requests were at work: by the engine's own account of its replicas, else by its log."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from console.analysis.diagnosis.replica_spread import replica_spread, why_not
from console.engines.base import LogLine, Reply
from console.engines.registry import engine_named
from console.engines.sglang_measuring import SGLangMeasuring
from console.engines.vllm_measuring import VLLMMeasuring
from console.measure.findings import of_level, of_spread
from console.measure.replica_looks import ReplicaLooks, with_log
from console.results.measured_load import beside, table
from console.schema.loads import Level, ReplicaLoad, Sent
from console.views.load import load_lines

SGLANG_METRICS = """\
sglang:num_running_reqs{model_name="m",tp_rank="0",pp_rank="0",dp_rank="0"} 9.0
sglang:num_running_reqs{model_name="m",tp_rank="1",pp_rank="0",dp_rank="0"} 9.0
sglang:num_running_reqs{model_name="m",tp_rank="0",pp_rank="0",dp_rank="1"} 1.0
sglang:num_retracted_requests_total{model_name="m",tp_rank="0",dp_rank="0"} 3.0
"""
VLLM_METRICS = """\
vllm:num_requests_running{engine="0",model_name="m"} 2.0
vllm:num_requests_running{engine="1",model_name="m"} 4.0
vllm:num_preemptions_total{engine="0",model_name="m"} 5.0
vllm:num_preemptions_created{engine="0",model_name="m"} 1.7e9
"""


def level(running: Sequence[float], prefix: str = "dp") -> Level:
    replicas = tuple(
        ReplicaLoad(name=f"{prefix}{index}", running=one, running_most=round(one) + 2)
        for index, one in enumerate(running)
    )
    return Level(streams=1, per_s=2.5, replicas=replicas, tok_min_gpu=100.0)


def test_each_engine_names_its_replicas_in_its_own_words() -> None:
    sglang = engine_named("sglang").read_counters(Reply(200, SGLANG_METRICS.encode()))
    assert (sglang.running_by_replica, sglang.retracted) == ({"dp0": 9, "dp1": 1}, 3)
    metrics = Reply(200, VLLM_METRICS.encode())
    vllm = engine_named("vllm").read_counters(metrics)
    assert (vllm.running_by_replica, vllm.retracted) == ({"engine 0": 2, "engine 1": 4}, 5)
    assert VLLMMeasuring().read_traffic({"/metrics": metrics}).by_replica == {"engine 0": 2, "engine 1": 4}
    loads = [{"dp_rank": rank, "num_running_reqs": 3 - rank, "num_waiting_reqs": 0} for rank in (0, 1)]
    said = SGLangMeasuring().read_traffic({"/v1/loads": Reply(200, json.dumps({"loads": loads}).encode())})
    assert (said.running, said.by_replica) == (5, {"dp0": 3, "dp1": 2})
    odd = Reply(200, b'{"loads": [{"dp_rank": true, "num_running_reqs": 1}]}')
    assert SGLangMeasuring().read_traffic({"/v1/loads": odd}).by_replica == {}


def test_averages_are_over_the_looks_at_which_anything_ran() -> None:
    looks = ReplicaLooks()
    for running, retracted in (({"dp0": 0, "dp1": 0}, 7.0), ({"dp0": 8, "dp1": 1}, 7.0), ({"dp0": 4}, 9.0)):
        looks.add(running, retracted)
    assert [(one.name, one.running, one.running_most) for one in looks.loads()] == [("dp0", 6.0, 8), ("dp1", 0.5, 1)]
    assert looks.retracted == 2
    looks.add({}, 1.0)
    assert looks.retracted is None  # another process counts
    assert [one.name for one in of_many(12).loads()][-2:] == ["dp10", "dp11"]


def of_many(count: int) -> ReplicaLooks:
    looks = ReplicaLooks()
    looks.add({f"dp{index}": 1 for index in range(count)}, None)
    return looks


def test_the_hottest_is_named_with_the_spread_as_a_share_of_the_mean() -> None:
    finding = of_spread("gpu1/k26", level([9.0, 1.0]), 2)
    assert (finding.name, finding.value, finding.unit, finding.n) == ("load_spread", 80.0, "% of mean", 2)
    assert finding.figures == {"hottest_running": 9.0, "coolest_running": 1.0}
    assert finding.flags == ("hottest dp0", "uneven: above 50 %")
    assert of_spread("gpu1/k26", level([5.0, 4.0]), 2).flags == ("hottest dp0",)


@pytest.mark.parametrize(
    ("running", "expected", "said"),
    [
        ([], 1, "one replica: n/a"),
        ([4.0], 1, "one replica: n/a"),
        ([], 4, "the engine does not say which of its 4 replicas runs what"),
        ([0.0, 0.0], 2, "nothing ran on any replica"),
    ],
)
def test_where_there_is_no_spread_it_is_said_why(running: list[float], expected: int, said: str) -> None:
    assert of_spread("gpu1/k26", level(running), expected).value == said
    assert replica_spread(level(running).replicas) is None
    assert why_not(level(running).replicas, expected) == said


def test_terminal_report_and_file_say_the_same() -> None:
    made = level([9.0, 1.0]).model_copy(update={"retracted": 4})
    told = "4 requests taken back for lack of room; load spread 80% of the mean over 2 replicas; hottest dp0: 9.0 "
    assert beside(made) == told + "requests at once (most 11), dp1 1.0"
    lines = load_lines([made])
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()).endswith(f"2.5/s: {beside(made)}")
    header, row = (line.split(",") for line in table([made]).splitlines())
    named = dict(zip(header, row, strict=True))
    assert [named[name] for name in ("retracted", "replicas", "spread_percent", "hottest")] == ["4", "2", "80", "dp0"]
    assert of_level("gpu1/k26", made, "replay").figures["retracted"] == 4.0
    assert beside(level([3.0])) == ""


def logged(engine: str, text: str) -> list[LogLine]:
    return [line for line in map(engine_named(engine).read_log, text.splitlines()) if line is not None]


def decode_line(rank: int, tp_rank: int, running: int, rate: float) -> str:
    return (
        f"[2026-05-06 11:00:00 DP{rank} TP{tp_rank}] Decode batch, #running-req: {running}, #token: 900, token usage: "
        f"0.10, accept len: 2.00, cuda graph: True, gen throughput (token/s): {rate:.2f}, #queue-req: 0, "
    )


def test_a_log_tells_it_where_the_metrics_do_not_and_a_silent_replica_was_idle() -> None:
    # 40 steps of 2 tokens for each of 8 requests at 640 tokens a second are 1 s; the second rank says the same again.
    text = "\n".join(decode_line(0, tp, 8, 640.0) for tp in (0, 1) for _ in range(10))
    text += "\n" + decode_line(1, 2, 2, 160.0)
    text += "\n[2026-05-06 11:00:09 DP0 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, "
    text += "#new_tokens_gained: 9120, #new_token_ratio: 0.6000 -> 0.8500"
    bare = Level(streams=1, per_s=2.5, requests=(Sent(scheduled_s=0.0, sent_s=0.0, ended_s=10.0),))
    seen = with_log(bare, "sglang", logged("sglang", text), 3)
    assert [(one.name, one.running) for one in seen.replicas] == [("dp0", 8.0), ("dp1", 0.2), ("dp2", 0.0)]
    assert seen.retracted == 2
    # What the engine was asked is kept; one replica that names no rank stays one.
    asked = level([2.0, 3.0])
    assert with_log(asked, "sglang", logged("sglang", text), 2).replicas == asked.replicas
    assert with_log(bare, "sglang", logged("sglang", text.replace("DP0 ", "").replace("DP1 ", "")), 1).replicas == ()


def test_vllm_names_its_engines_in_the_log() -> None:
    text = "\n".join(
        f"INFO 05-06 11:00:{at:02} [loggers.py:123] Engine 00{rank}: Avg prompt throughput: 0.0 tokens/s, "
        f"Avg generation throughput: 88.1 tokens/s, Running: {running} reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 0.3%, Prefix cache hit rate: 0.0%"
        for at in (10, 20)
        for rank, running in ((0, 6), (1, 2))
    )
    bare = Level(streams=1, per_s=2.5, requests=(Sent(scheduled_s=0.0, sent_s=0.0, ended_s=20.0),))
    seen = with_log(bare, "vllm", logged("vllm", text), 1)
    assert [(one.name, one.running) for one in seen.replicas] == [("engine 0", 6.0), ("engine 1", 2.0)]
