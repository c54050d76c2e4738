"""The one runbook for the window, unchanged, on services of the three engines' manners."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.lab.lab import Lab
from console.lab.layout import Shape
from tests.runbooks import unmeasured, without_step

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
