"""constraints.txt pins everything that is installed, and says nothing of where it comes from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parents[1]
PIN = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+?)(?P<marker> ; [^\\]+)? ?(?P<hashes>( --hash=sha256:[0-9a-f]{64})+)"
)


def pins() -> dict[str, str]:
    """Name → version. Every entry of the file must be a pin with hashes and nothing else."""
    text = (PROJECT / "constraints.txt").read_text()
    found: dict[str, str] = {}
    for entry in re.sub(r"\s*\\\n\s*", " ", text).splitlines():
        pin = PIN.fullmatch(entry)
        assert pin, f"not a pin with hashes: {entry[:120]!r}"
        found[canonicalize_name(pin["name"])] = pin["version"]
    return found


def requirements() -> list[Requirement]:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    return [Requirement(line) for line in [*project["dependencies"], *project["optional-dependencies"]["test"]]]


@pytest.mark.parametrize("requirement", requirements(), ids=lambda requirement: requirement.name)
def test_what_pyproject_asks_for_is_pinned(requirement: Requirement) -> None:
    pinned = pins().get(canonicalize_name(requirement.name))
    assert pinned is not None, "make it with pip-compile --generate-hashes --extra test"
    assert requirement.specifier.contains(pinned)


def test_no_index_no_path_no_address() -> None:
    text = (PROJECT / "constraints.txt").read_text()
    assert not re.search(r"://|index-url|find-links|trusted-host|^-|file:| @ |/", text, re.MULTILINE)
