"""Importing an estimator costs nothing: numpy and scipy come with the first fit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import console.analysis.statistics

PROJECT = Path(__file__).parents[3]
MODULES = sorted(path.stem for path in Path(console.analysis.statistics.__file__).parent.glob("[a-z]*.py"))
CODE = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(f"console.analysis.statistics.{name}")
print(*sorted({"numpy", "scipy", "pydantic", "asyncssh", "httpx"} & set(sys.modules)))
"""


def test_no_module_loads_anything_heavy() -> None:
    assert "sweep" in MODULES
    done = subprocess.run(
        [sys.executable, "-c", CODE, *MODULES], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
