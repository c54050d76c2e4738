"""`console capacity` on a simulated host: what it prints, what it records, and that it touches nothing."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.lab.lab import Lab

ROOT = Path(__file__).parents[2]
# What a draft's own config says, in the part that decides.
DRAFT = {
    "model_type": "qwen3",
    "torch_dtype": "bfloat16",
    "num_hidden_layers": 6,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 131072,
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("capacity")
    draft = folder / "draft"
    draft.mkdir()
    (draft / "config.json").write_text(json.dumps(DRAFT))
    words = ("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", str(draft))
    running = asyncio.run(Lab.start(folder / "lab", load_s=2.0, speed=50.0, arguments=words))
    yield running
    running.stop_now()


def console(lab: Lab, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ) | {"XDG_STATE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "console", "--hosts", str(lab.hosts_toml), "capacity", *words],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert not [event for event in events if event["type"] == "change.intended"]
    found: dict[str, Any] = next(event for event in events if event["type"] == "capacity.judged")["report"]
    return found


def test_beyond_the_draft_names_the_variable(lab: Lab, tmp_path: Path) -> None:
    before = lab.service().unit_file.read_text()
    told = report(console(lab, tmp_path, "--context", "200000", "--set", "mem_fraction=0.92", "--json"))
    assert told["judgement"]["verdict"] == "beyond the draft"
    assert told["judgement"]["variable"] == "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
    assert told["draft_limit_tokens"] == 131072
    assert told["model_limit_tokens"] == 262144
    assert lab.service().unit_file.read_text() == before
    subject = subprocess.run(
        ["git", "-C", str(lab.folder / "results"), "log", "-1", "--format=%s"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert subject.stdout.strip() == "lab1/k26: capacity-check window 200000: beyond the draft, measured"


def test_eighty_columns_for_people(lab: Lab, tmp_path: Path) -> None:
    done = console(lab, tmp_path, "--no-commit")
    assert done.returncode == 0, done.stderr
    assert "draft limit  131,072 tokens (max_position_embeddings 131,072)" in done.stdout
    assert "whole on each of 8 ranks" in done.stdout
    assert "--set mem_fraction=0." in done.stdout
    shown = done.stdout[done.stdout.index("model limit") :]
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_a_setting_that_there_is_not(lab: Lab, tmp_path: Path) -> None:
    done = console(lab, tmp_path, "--context", "200000", "--set", "memfraction=0.92")
    assert done.returncode == 1
    assert "did you mean 'mem_fraction'" in done.stderr
    wrong = console(lab, tmp_path, "--set", "mem_fraction")
    assert wrong.returncode == 2
