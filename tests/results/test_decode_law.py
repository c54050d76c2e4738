"""The law of a target's decoding, from the records that are committed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from console.results.queries.decode_law import decode_law

CELLS = [(13, 4.75, "short"), (1663, 2.9, "analysis"), (3333, 2.9, "analysis"), (5553, 2.9, "analysis")]


def committed(folder: Path, *, cells: int = len(CELLS)) -> Path:
    """A results repository with one sweep in it."""
    run = "01K2EXAMPLE0000000000000ZZ"
    lies = folder / "gpu1" / "k26" / "2026" / run
    lies.mkdir(parents=True)
    measured = [
        {
            "step": "sweep",
            "state": "ok",
            "context_tokens": context,
            "at_tokens": context + 316,
            "rate_tok_s": accept / (26.3 + 0.0201 * (context + 316)) * 1000,
            "accept_length": accept,
            "text_class": text,
        }
        for context, accept, text in CELLS[:cells]
    ]
    (lies / "record.json").write_text(json.dumps({"cells": measured, "outcome": "measured"}))
    message = (
        f"gpu1/k26: measure-sweep\n\nNothing was changed.\n\nRun-Id: {run}\nTarget: gpu1/k26\nOutcome: measured\n"
        "Finding: decode_rate 67.1tok/s context_tokens=64 text_class=repetitive accept_length=7.85\n"
    )
    identity = ("-c", "user.name=kim", "-c", "user.email=kim@example.net")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", message)):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


def test_the_line_of_the_last_sweep(tmp_path: Path) -> None:
    law = decode_law(committed(tmp_path), "gpu1/k26")
    assert law is not None
    assert law.intercept_ms == pytest.approx(26.3, rel=0.001)
    assert law.slope_ms == pytest.approx(0.0201, rel=0.001)
    assert law.deepest_tokens == 5869
    assert law.accept_lengths == (2.9, 7.85), "the least and the most of any text on record"
    assert law.source.startswith("the sweep of 20")


def test_too_little_on_record(tmp_path: Path) -> None:
    assert decode_law(tmp_path / "nothing", "gpu1/k26") is None
    assert decode_law(committed(tmp_path, cells=2), "gpu1/k26") is None
