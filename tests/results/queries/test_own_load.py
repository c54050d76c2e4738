"""When we sent requests ourselves: the measuring steps of the target's recorded runs, and no others."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from console.results.queries.own_load import moment, own_load

STEPS = [
    {"id": "look", "uses": "host.preflight", "outcome": "ok", "started_at": "2026-05-06T10:00:00Z", "duration_s": 5.0},
    {"id": "load", "uses": "measure.load", "outcome": "ok", "started_at": "2026-05-06T10:01:00Z", "duration_s": 60.0},
    {"id": "gate", "uses": "gate.quality", "outcome": "ok", "started_at": "", "duration_s": 60.0},
]
AT = 1_778_061_660.0  # 2026-05-06T10:01:00Z


def committed(folder: Path, runs: dict[str, list[dict[str, object]]]) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for run, steps in runs.items():
        lies = folder / "gpu1" / "k26" / "2026" / run
        lies.mkdir(parents=True)
        text = json.dumps({"run": run, "target": "gpu1/k26", "runbook": "m", "outcome": "measured", "steps": steps})
        (lies / "record.json").write_text(text if steps else "{")
        message = f"gpu1/k26: m\n\nRun-Id: {run}\nTarget: gpu1/k26\nOutcome: measured\nFinished: 2026-05-06T10:03:00Z\n"
        identity = ("-c", "user.name=kim", "-c", "user.email=kim@example.net")
        for words in (("add", "."), (*identity, "commit", "-q", "-m", message)):
            subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


def test_the_span_of_each_step_that_sent_something(tmp_path: Path) -> None:
    path = committed(tmp_path / "findings", {"01K2EXAMPLE0000000000000ZZ": STEPS, "01K2EXAMPLE0000000000000ZY": []})
    assert own_load(path, "gpu1/k26", AT - 3600) == ((AT, AT + 60.0),)
    assert own_load(path, "gpu1/k26", AT + 3600) == ()  # it ended before
    assert own_load(path, "gpu2/k26", AT - 3600) == ()
    assert own_load(tmp_path / "nothing", "gpu1/k26", 0.0) == ()


def test_a_moment_without_a_zone_is_none() -> None:
    assert moment("2026-05-06T10:01:00Z") == AT
    assert moment("2026-05-06T10:01:00") is None
    assert moment("then") is None
