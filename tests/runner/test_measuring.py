"""`console measure` on a lab: the record it leaves, and what must end in a refusal or in a marked part."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.runner.conftest import Desk, of_type

pytestmark = pytest.mark.xdist_group("measuring")


def events_of(stdout: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stdout.splitlines()]


def measure(desk: Desk, *words: str) -> tuple[int, list[dict[str, Any]]]:
    done = desk.run("measure", *words, "--json")
    return done.returncode, events_of(done.stdout)


def step(events: list[dict[str, Any]]) -> dict[str, Any]:
    return [event for event in of_type(events, "step.finished") if event["uses"].startswith("measure.")][-1]


def running(desk: Desk) -> int:
    load = httpx.get(f"{desk.lab.service().url}/v1/loads").json()["aggregate"]
    return int(load["total_reqs"])


def used_tokens(desk: Desk) -> int:
    return int(httpx.get(f"{desk.lab.service().url}/v1/loads").json()["loads"][0]["num_used_tokens"])


def wait_until(good: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not good():
        assert time.monotonic() < end, "not within a minute"
        time.sleep(0.02)


def wait_until_running(desk: Desk, count: int) -> None:
    wait_until(lambda: running(desk) == count)


def generate(desk: Desk, tokens: int) -> dict[str, Any]:
    """A request of somebody else's."""
    body = {"text": "what is this", "sampling_params": {"max_new_tokens": tokens, "ignore_eos": True}}
    found: dict[str, Any] = httpx.post(f"{desk.lab.service().url}/generate", json=body, timeout=120).json()
    return found


def kill_engine(desk: Desk) -> None:
    os.kill(int(desk.show("MainPID")["MainPID"]), signal.SIGKILL)


@pytest.fixture
def somebody(desk: Desk) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_decode_is_a_recorded_run(desk: Desk) -> None:
    done = desk.run("measure", "decode", "--text-classes", "short", "--samples", "5")
    assert done.returncode == 0, done.stderr
    assert desk.git("log", "-1", "--format=%s").startswith("lab1/k26: measure-decode decode_rate 15")
    (finding,) = desk.git("log", "-1", "--format=%(trailers:key=Finding,valueonly)").strip().splitlines()
    for words in ("decode_rate 15", "n=5", "text_class=short", "accept_length=4.72", "source=server,per-request"):
        assert words in finding
    assert desk.git("log", "-1", "--format=%(trailers:key=Change,valueonly)").strip() == ""
    names = desk.git("show", "--name-only", "--format=", "HEAD").split()
    assert {name.rpartition("/")[2] for name in names} == {"record.json", "report.md", "decode.csv"}
    assert "avg commit" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if not line.startswith(("record:", "commit:")))


def test_beyond_the_window_the_engines_own_sentence_is_the_reason(desk: Desk) -> None:
    code, events = measure(desk, "sweep", "--contexts", "40k")
    assert code == 1
    assert "is longer than the model's context length (32768 tokens)" in step(events)["message"]
    assert not [event for event in of_type(events, "finding.made") if event["name"] != "not_measured"]


def test_a_busy_server_is_refused(desk: Desk, somebody: ThreadPoolExecutor) -> None:
    somebody.submit(generate, desk, 31_000)
    wait_until_running(desk, 1)
    code, events = measure(desk, "decode", "--text-classes", "short")
    assert running(desk) == 1
    httpx.post(f"{desk.lab.service().url}/abort_request", json={"abort_all": True})
    assert code == 1, step(events)["message"]
    assert step(events)["message"].startswith("server busy: 1 requests running")
    assert of_type(events, "target.finished")[0]["outcome"] == "failed-unchanged"


def test_no_server(desk: Desk) -> None:
    desk.lab.set_fault("crash-loop")
    kill_engine(desk)
    code, events = measure(desk, "decode", "--text-classes", "short")
    assert code == 1, step(events)["message"]
    assert "nothing to measure: " in step(events)["message"]


def test_a_server_that_dies_leaves_its_finished_cells_marked(desk: Desk) -> None:
    process = desk.start("measure", "sweep", "--contexts", "13,1663,20k", "--json")
    assert process.stdout is not None
    events = []
    for line in process.stdout:
        events.append(json.loads(line))
        if len(of_type(events, "cell.measured")) == 1:
            kill_engine(desk)
            break
    rest, errors = process.communicate(timeout=60)
    events += events_of(rest)
    assert process.returncode == 1, errors
    assert step(events)["outcome"] == "failed"
    cells = [event["cell"] for event in of_type(events, "cell.measured")]
    assert cells[0]["state"] == "measured"
    assert cells[-1]["state"] == "partial"
    (path,) = [name for name in desk.git("show", "--name-only", "--format=", "HEAD").split() if "record.json" in name]
    record = json.loads(desk.git("show", f"HEAD:{path}"))
    assert [cell["state"] for cell in record["cells"]] == [cell["state"] for cell in cells]


def test_ctrl_c_keeps_what_was_measured_and_takes_back_ours_alone(desk: Desk, somebody: ThreadPoolExecutor) -> None:
    words = ("sweep", "--contexts", "13,25k", "--output-tokens", "4000", "--budget", "10h")
    process = desk.start("measure", *words, "--json")
    assert process.stdout is not None
    events = []
    for line in process.stdout:
        events.append(json.loads(line))
        if events[-1]["type"] == "step.progress" and events[-1]["phase"].startswith("25000"):
            break
    # Only the long answer ever has so many tokens: the short ones come and go between two looks.
    wait_until(lambda: used_tokens(desk) > 25_000 + 200)
    foreign: Future[dict[str, Any]] = somebody.submit(generate, desk, 2_000)
    wait_until_running(desk, 2)
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=60)
    events += events_of(rest)
    assert process.returncode == 130, errors
    assert step(events)["outcome"] == "aborted"
    cells = [event["cell"] for event in of_type(events, "cell.measured")]
    assert [cell["state"] for cell in cells][-1] == "partial"
    assert cells[0]["state"] == "measured"
    assert of_type(events, "record.committed")[0]["sha"]
    assert foreign.result()["meta_info"]["completion_tokens"] == 2_000
    wait_until_running(desk, 0)
