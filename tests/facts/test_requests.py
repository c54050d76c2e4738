"""What leaves the host of a request log: lengths and times of requests that ended, and nothing that a user wrote."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from console.analysis.workload.profile import Profile
from console.analysis.workload.read_rows import of_csv_lines
from console.facts.requests import HEADER, MAP, of_requests
from console.remote.scripts import load

TEXT = 'a secret "prompt_tokens": 5, "completion_tokens": 5 "timestamp": "2020-01-01T00:00:00"'


def line(event: str, *, text: str = "", **meta: object) -> str:
    told = {"timestamp": "2026-02-03T04:05:06.5", "event": event, "rid": "ab-1", "obj": {"text": text}}
    out = {"text": text, "meta_info": {"id": "x", **meta}}
    return "[2026-02-03 04:05:06] " + json.dumps({**told, "out": out})


def asked(tmp_path: Path, *lines: str) -> bytes:
    """The script on a log file of this machine, with the parts of its prelude that it uses."""
    log = tmp_path / "engine.log"
    log.write_text("\n".join(lines) + "\n")
    prelude = 'section() { echo "== $1"; }\n'
    script = (prelude + load("look_requests.sh")).encode()
    done = subprocess.run(["sh", "-s", "unit", "3600", str(log)], input=script, capture_output=True, check=True)
    return done.stdout.split(b"== requests\n", 1)[1]


def test_lengths_and_times_and_no_text(tmp_path: Path) -> None:
    got = asked(
        tmp_path,
        "Decode batch. #running-req: 1",
        line("request.received", text=TEXT),
        line("request.finished", text=TEXT, prompt_tokens=70, completion_tokens=6, cached_tokens=35, e2e_latency=2.0),
        line("request.finished", prompt_tokens=1000, completion_tokens=60, cached_tokens=0, e2e_latency=1.25e1),
        line("request.finished", finish_reason="abort"),
    )
    assert b"secret" not in got
    assert got.splitlines()[0] == b"2026-02-03T04:05:06.5,2.0,70,6,35,ab-1"
    batch = of_csv_lines(got.splitlines(), 1, MAP, HEADER)
    assert batch.input.tolist() == [70, 1000]
    assert (batch.ended_us - batch.at_us).tolist() == [2_000_000, 12_500_000]  # type: ignore[operator]
    assert batch.bad.sentences() == ["1 line: no input length (line 3)"]
    profile = Profile()
    profile.add(batch)
    # Both lines of this test have one id, as a log that was read twice has.
    assert profile.result().requests == 1


def test_our_own_requests_are_left_out_by_their_ids_and_without_one_by_their_time() -> None:
    lines = [
        b"2026-02-03T04:05:06+00:00,2.0,70,6,35,console-01K2-02-000001",
        b"2026-02-03T04:05:07+00:00,2.0,80,6,35,0a1b",
        b"2026-02-03T04:05:08+00:00,2.0,90,6,35,my-console-1",
        b"2026-02-03T04:05:09+00:00,2.0,100,6,35,",
    ]
    found = of_requests(lines)
    assert (found.batch.input.tolist(), found.ours) == ([80, 90, 100], 1)
    ended_s = 1_770_091_509.0  # of the last line
    assert of_requests(lines, [(ended_s - 3, ended_s)]).batch.input.tolist() == [80, 90]
    assert of_requests(lines, [(ended_s + 1, ended_s + 9)]).ours == 1
    assert of_requests([b"junk", b""], [(0.0, 1e12)]).ours == 0
