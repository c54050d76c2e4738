"""What may import what, and what starting costs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
HEAVY = {"asyncssh", "git", "httpx", "numpy", "pydantic", "rich", "scipy", "textual", "tomlkit"}


def contracts() -> dict[str, dict[str, list[str]]]:
    table = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return {contract["name"]: contract for contract in table["contracts"]}


def test_imports_go_only_downward() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-logo", "--no-cache"], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_lab_may_import_no_room_at_all() -> None:
    names = {
        path.stem for path in (PROJECT / "console").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    rooms = {f"console.{name}" for name in names - {"__init__", "lab"}}
    assert set(contracts()["The lab shares nothing with what it tests"]["forbidden_modules"]) == rooms


def test_help_loads_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "console", "--help"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "argparse" in loaded
    assert loaded.isdisjoint(HEAVY), loaded & HEAVY
