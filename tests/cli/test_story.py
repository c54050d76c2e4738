"""`make story` goes as told: complaint, why, what fits, a change that is stopped and gone on with, the record."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_whole_night(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "console", "demo", "--story"],
        env=os.environ | {"XDG_STATE_HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout
    assert "32 tok/s at 3.45k tokens: explained, not a regression" in told
    assert "138 tok/s was 13 tokens of context at commit 4.7" in told
    assert "starts but cannot serve" in told
    assert "--set mem_fraction=0.92" in told
    assert "^C" in told
    assert "(exit 3)" in told
    assert "OPEN gpu1/k26: changed, not proven to serve" in told
    # The last word is the repository's own: four commits, and the prompt that went past the old window.
    log = told.rpartition("log --reverse")[2]
    subjects = [line.partition(" ")[2] for line in log.splitlines()[1:5]]
    assert [subject.rpartition(", ")[2] for subject in subjects[2:]] == ["applied-unverified", "verified"]
    assert subjects[1] == "gpu1/k26: diagnose 32 tok/s at 3.45k tokens: explained, not a regression"
    assert "pool_tokens 203386 method=server_info source=engine predicted=203386" in log, "as it was before the stop"
    assert "Expected there: decode at 200,000 tokens" in " ".join(log.split())
    prompt = next(line for line in log.splitlines() if "Finding: prompt_tokens" in line).split()[2]
    assert int(prompt.replace(",", "")) > 32_768
