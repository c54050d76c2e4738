"""The one runbook for the window, unchanged, on services of the three engines' manners."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.analysis.workload.validity import JSON_QUESTIONS, TOOL_QUESTIONS, TOOLS
from console.engines.base import Reply
from console.engines.chat import Turn, chat_request, read_chat
from console.lab.lab import Lab
from console.lab.layout import Shape
from console.measure.structure import fault_of
from tests.runbooks import STRUCTURE, unmeasured, without_step

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["vllm", "llamacpp"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    shape = Shape(engine=request.param, speed=40.0, load_s=20.0)
    running = asyncio.run(Lab.start(tmp_path / "lab", shape))
    yield running
    running.stop_now()


def console(lab: Lab, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "console", "--hosts", str(lab.hosts_toml), *words],
        env=dict(os.environ) | {"XDG_STATE_HOME": str(folder / "state"), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def levels(lab: Lab, folder: Path) -> set[str]:
    done = console(lab, folder, "facts", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["warnings"] == []  # its unit has nothing that nobody meant
    found = {level["setting"]: level for level in told["levels"]}["context_length"]
    return {found[name] for name in ("disk", "loaded", "running")}


def asked(lab: Lab, question: str, **more: Any) -> Turn:
    """One turn of the chat, straight from the engine."""
    request = chat_request("", question, 200, **more)
    url = f"http://127.0.0.1:{lab.service().port}{request.path}"
    sent = urllib.request.Request(url, json.dumps(request.json).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent, timeout=30) as reply:
        return read_chat(Reply(200, reply.read()))


def test_calls_of_tools_and_objects_are_judged_on_either_engine(lab: Lab, tmp_path: Path) -> None:
    book = tmp_path / "structure.toml"
    book.write_text(STRUCTURE)
    done = console(lab, tmp_path, "run", str(book), "--yes", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    found = {one["name"]: (one["value"], one["n"]) for one in events if one["type"] == "finding.made"}
    assert (found["valid_calls"], found["valid_json"]) == ((1.0, 4), (1.0, 4))

    # What ends in the middle is a fault of each; a run on SGLang's manner shows that the gate then fails.
    lab.set_fault("broken-calls")
    called = asked(lab, TOOL_QUESTIONS[0], tools=TOOLS)
    assert called.calls[0].name == "get_weather"
    assert fault_of(called, "tools", ()).startswith("get_weather: no JSON")
    question, keys = JSON_QUESTIONS[0]
    assert fault_of(asked(lab, question, as_json=True), "json", keys).startswith("no JSON")
    assert fault_of(asked(lab, question), "json", keys).startswith("no JSON")  # words are no object


def test_the_window_is_raised_proven_and_put_back(lab: Lab, tmp_path: Path) -> None:
    before = lab.service().unit_file.read_text()

    done = console(lab, tmp_path, "run", str(unmeasured()), "--yes", "--json", "--set", "to=131072")

    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["outcome"] for event in events if event["type"] == "target.finished"] == ["verified"]
    assert levels(lab, tmp_path) == {"131072"}
    assert lab.service().unit_file.read_text() == before.replace(" 32768", " 131072")
    (prompt,) = [event["value"] for event in events if event.get("name") == "prompt_tokens"]
    assert prompt > 32768

    # More than memory holds: the engine refuses to start, and the run puts the last window back.
    book = tmp_path / "unchecked.toml"
    book.write_text(without_step("capacity.check"))
    words = ("--set", "to=1000000", "--set", "expect=131072")
    back = console(lab, tmp_path, "run", str(book), "--yes", "--json", *words)

    assert back.returncode == 4, back.stdout + back.stderr
    assert levels(lab, tmp_path) == {"131072"}
