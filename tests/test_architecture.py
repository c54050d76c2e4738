"""The house as docs/architecture.md shows it is the house as it stands; files stay small and name no machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
LONGEST = 500
# Where packages come from is each machine's own setting.
HOSTS_OF_PACKAGES = (
    "pypi" + ".org",
    "python" + "hosted.org",
    "deb." + "debian.org",
    "security." + "debian.org",
    "registry." + "npmjs",
)
PATHS_OF_A_MACHINE = re.compile(r"(?<![\w.}/])/(work|tmp/v|root/\.pyenv|opt/pypi)/")


def tree_of_page() -> set[str]:
    """The files named in the page's tree: a folder's line ends with a slash, what is in it is indented further."""
    page = (PROJECT / "docs" / "architecture.md").read_text()
    block = re.search(r"^```tree\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert block, "docs/architecture.md has no ```tree block"
    found: set[str] = set()
    above: list[tuple[int, str]] = []
    for line in block[1].splitlines():
        name = line.split()[0]
        depth = len(line) - len(line.lstrip())
        above = [(indent, folder) for indent, folder in above if indent < depth]
        if name.endswith("/"):
            above.append((depth, name))
        else:
            assert len(line.split(maxsplit=1)) == 2, f"{name} is named without saying what it is for"
            found.add("".join(folder for _, folder in above) + name)
    return found


def tree_on_disk() -> set[str]:
    """Every file; an `__init__.py` that only makes a package is not worth a line."""
    files = [path for path in (PROJECT / "console").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(PROJECT)) for path in files if path.name != "__init__.py"}


def project_files() -> list[Path]:
    """What git knows or would take; outside a repository, everything that is not hidden."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        found = [PROJECT / name for name in listed.stdout.decode().split("\0") if name]
    else:
        found = [
            path
            for path in PROJECT.rglob("*")
            if not any(part.startswith(".") for part in path.relative_to(PROJECT).parts)
        ]
    return [path for path in found if path.is_file()]


def test_the_page_names_every_file_and_no_other() -> None:
    page, disk = tree_of_page(), tree_on_disk()
    assert sorted(disk - page) == [], "not in docs/architecture.md"
    assert sorted(page - disk) == [], "in docs/architecture.md, but not there"


@pytest.mark.parametrize("folder", ["console", "tests", "bench"])
def test_files_stay_short(folder: str) -> None:
    lengths = {
        str(path.relative_to(PROJECT)): len(path.read_text().splitlines()) for path in (PROJECT / folder).rglob("*.py")
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_no_file_names_a_package_host_or_a_path_of_one_machine() -> None:
    found = []
    for path in project_files():
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), 1):
            if any(name in line for name in HOSTS_OF_PACKAGES) or PATHS_OF_A_MACHINE.search(line):
                found.append(f"{path.relative_to(PROJECT)}:{number}: {line.strip()[:100]}")
    assert found == []
