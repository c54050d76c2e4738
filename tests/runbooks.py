"""The shipped runbook as the tests run it: without measuring, which takes its time, or without one of its steps."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

EXTEND_CONTEXT = Path(__file__).parents[1] / "runbooks" / "extend_context.toml"
_MEASURE = 'measure = { type = "bool", default = true'

# gate.quality by the form of an answer alone.
STRUCTURE = """\
schema = 1
name = "structure"
title = "Are calls and objects still read?"
on_failure = "stop"

[[step]]
uses = "gate.quality"
contexts = []
valid = ["tools", "json"]
"""


def unmeasured_text() -> str:
    """extend_context.toml where `measure` is false unless told otherwise."""
    text = EXTEND_CONTEXT.read_text()
    assert text.count(_MEASURE) == 1
    return text.replace(_MEASURE, _MEASURE.replace("true", "false"))


def unmeasured() -> Path:
    """A file of it that lives as long as this process."""
    folder = Path(tempfile.mkdtemp(prefix="console-runbook-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / EXTEND_CONTEXT.name
    path.write_text(unmeasured_text())
    return path


def without_step(uses: str) -> str:
    """Its text without the step of that kind, for what can be seen only when that step is not there."""
    head, *steps = unmeasured_text().split("[[step]]\n")
    kept = [step for step in steps if not step.startswith(f'uses = "{uses}"')]
    assert len(kept) == len(steps) - 1, uses
    return "[[step]]\n".join([head, *kept])
