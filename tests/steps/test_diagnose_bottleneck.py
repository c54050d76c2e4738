"""A measured level in the figures that a limit is told from."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from console.analysis.diagnosis.production import production_of
from console.analysis.diagnosis.window import Said
from console.engines.base import LogLine
from console.schema.events import FindingMade
from console.schema.loads import Level, ReplicaLoad, Sent
from console.steps.diagnose_bottleneck import DiagnoseBottleneck, of_production, of_this_start, replicas_of, seen_of
from tests.fakes import FakeRemote, Told, ok, step_io


def test_medians_of_what_was_answered_whole() -> None:
    sent = [
        Sent(
            scheduled_s=0.0,
            sent_s=0.0,
            first_s=ttft,
            ended_s=ttft + 2.0,
            first_tokens=1,
            prompt_tokens=1000,
            completion_tokens=101,
            cached_tokens=250,
        )
        for ttft in (0.1, 0.2, 0.9)
    ]
    sent.append(sent[0].model_copy(update={"refused": "ended early", "ended_s": 99.0}))
    level = Level(streams=4, requests=tuple(sent), pool_usage_most=0.5, queued_most=2, client_lag_ms=1.0)
    seen = seen_of(level)
    assert (seen.streams, seen.ttft_s, seen.e2e_s, seen.hit) == (4.0, 0.2, 2.2, 0.25)
    assert seen.gap_s == pytest.approx(0.02)
    assert (seen.pool, seen.queued, seen.lag_ms) == (0.5, 2, 1.0)
    assert seen_of(level.model_copy(update={"queued_usual": 0})).queued == 0
    assert seen_of(Level(streams=1, per_s=5.0, running_most=7)).streams == 7.0


def test_sessions_that_are_computed_again_are_told_from_the_record() -> None:
    base = Sent(scheduled_s=0.0, sent_s=0.0, first_s=0.1, ended_s=2.0, first_tokens=1, completion_tokens=101)
    sent = [
        base.model_copy(
            update={"prompt_tokens": known, "known_prompt_tokens": known, "cached_tokens": round(known * share)}
        )
        for known, share in ((1000, 0.9), (4000, 0.5), (9000, 0.1))
        for _ in range(9)
    ]
    seen = seen_of(Level(streams=1, per_s=2.0, requests=tuple(sent)))
    assert seen.sessions is not None
    assert seen.sessions.short.share == 0.9
    loads = tuple(one.model_copy(update={"known_prompt_tokens": None}) for one in sent)
    assert seen_of(Level(streams=4, requests=loads)).sessions is None


def test_replicas_are_those_of_the_widest_level_else_of_the_log() -> None:
    two = (ReplicaLoad(name="dp0", running=9.0), ReplicaLoad(name="dp1", running=1.0))
    even = tuple(one.model_copy(update={"running": 1.0}) for one in two)
    levels = [Level(streams=16, replicas=two), Level(streams=2, replicas=even), Level(streams=32)]
    assert [one.running for one in replicas_of(levels, even)] == [9.0, 1.0]
    assert [one.running for one in replicas_of([Level(streams=32)], even)] == [1.0, 1.0]
    assert replicas_of([], []) == []


def test_what_a_new_process_did_is_told_apart_from_what_the_one_before_it_did() -> None:
    def prefill(new: int, cached: int) -> Said:
        return Said(0.0, LogLine("prefill", "", {"new_tokens": new, "cached_tokens": cached}))

    batch = Said(0.0, LogLine("decode", "", {"running": 1, "throughput": 80.0}))
    begin = [Said(0.0, LogLine("args", "")), Said(0.0, LogLine("ready", ""))]
    lines = [batch, prefill(100, 900), *begin, batch, prefill(800, 200)]
    assert of_this_start(lines) == lines[4:]
    assert of_this_start(lines[4:]) == lines[4:]
    whole, fresh = production_of("sglang", lines), production_of("sglang", of_this_start(lines))
    assert whole is not None
    figures = of_production("gpu1/k26", whole, [], 720.0, fresh).figures
    assert (figures["hit_percent"], figures["new_hit_percent"], figures["age_s"]) == (55.0, 20.0, 720.0)
    assert "new_hit_percent" not in of_production("gpu1/k26", whole, [], 90_000.0).figures
    # Where the log begins with this process there is nothing to tell apart.
    assert "new_hit_percent" not in of_production("gpu1/k26", whole, [], 720.0, whole).figures


def repository(folder: Path, steps: list[dict[str, object]]) -> Path:
    target = FakeRemote().target.name
    lies = folder / target / "2026" / "R1"
    lies.mkdir(parents=True)
    document = {"run": "R1", "target": target, "outcome": "measured", "runbook": "measure-load", "steps": steps}
    (lies / "record.json").write_text(json.dumps(document))
    message = f"{target}: load\n\nRun-Id: R1\nTarget: {target}\nRunbook: measure-load\nOutcome: measured\n"
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", message]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


def decoding(at_s: int, running: int) -> str:
    text = (
        f"[2026-05-06 11:00:00 TP0] Decode batch, #running-req: {running}, #token: 900, token usage: 0.10, "
        f"accept len: 2.00, cuda graph: True, gen throughput (token/s): {80.0 * running:.2f}, #queue-req: 0, "
    )
    told = {"__CURSOR": str(at_s), "__REALTIME_TIMESTAMP": str(at_s * 1_000_000), "MESSAGE": text}
    return json.dumps(told) + "\n"


async def test_the_production_sample_is_without_our_own_loads_and_says_how_much_was_left_out(tmp_path: Path) -> None:
    log = "".join(decoding(at, 32 if 100 <= at <= 160 else 2) for at in range(10, 310, 10))
    load = {"id": "l", "uses": "measure.load", "outcome": "ok", "started_at": "1970-01-01T00:01:40Z", "duration_s": 60}
    for path, running, flags in (
        (repository(tmp_path / "with", [load]), 2.0, ("7 lines of our own measurements left out",)),
        (repository(tmp_path / "without", [load | {"uses": "host.preflight"}]), 9.0, ()),
    ):
        told = Told()
        io = step_io(FakeRemote(answers={"look_speed.sh": ok(log=log)}), "diagnose.bottleneck", told, results_path=path)
        assert (await DiagnoseBottleneck().run(io)).outcome == "ok"
        (found,) = [one for one in told.of(FindingMade) if one.name == "running_requests"]
        assert (found.value, found.flags, found.figures["own_lines"]) == (running, flags, 7.0 * len(flags))
