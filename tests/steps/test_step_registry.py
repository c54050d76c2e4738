"""Every step kind is in the registry, in a file of its own name, and said in docs/steps.md."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from console.steps.base import Step
from console.steps.registry import STEP_KINDS

ROOT = Path(__file__).parents[2]
NOT_KINDS = {
    "__init__",
    "base",
    "coming_back",
    "diagnosis_events",
    "levels",
    "measuring",
    "parts",
    "ranks",
    "registry",
    "together",
}


def test_every_file_of_a_kind_is_registered() -> None:
    files = {path.stem for path in (ROOT / "console" / "steps").glob("*.py")} - NOT_KINDS
    assert {name.replace(".", "_") for name in STEP_KINDS} == files


@pytest.mark.parametrize("name", STEP_KINDS)
def test_a_kind(name: str) -> None:
    kind = STEP_KINDS[name]
    assert kind.uses == name
    assert inspect.getfile(kind).endswith(f"/{name.replace('.', '_')}.py")
    assert kind.summary
    assert (ROOT / "tests" / "steps" / f"test_{name.replace('.', '_')}.py").exists()
    runs = kind.run is not Step.run
    assert runs or not kind.looks
    assert not (kind.looks and kind.changes), "a step looks, or it makes changes"


def test_the_page_has_a_line_for_each_kind_with_its_keys() -> None:
    rows = dict(re.findall(r"^\| `([a-z_.]+)` \|[^|]*\|([^|]*)\|$", (ROOT / "docs/steps.md").read_text(), re.M))
    assert rows.keys() == STEP_KINDS.keys()
    for name, kind in STEP_KINDS.items():
        named = set(re.findall(r"`([a-z_]+)`", rows[name])) - {"timeout"}
        assert named == set(kind.model_fields), name
