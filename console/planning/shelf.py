"""Where runbooks lie: those that come with the program, and the operator's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import console
from console.errors import InvalidFileError

FOLDER = "runbooks"


def shipped_folders() -> list[Path]:
    """In the package when installed, beside it in a checkout."""
    package = Path(console.__file__).parent
    return [package / FOLDER, package.parent / FOLDER]


def runbook_path(name: str) -> Path:
    """The path of a shipped runbook, such as `extend_context.toml`."""
    for folder in shipped_folders():
        if (folder / name).is_file():
            return folder / name
    raise InvalidFileError("this runbook is not installed", where=name)


def on_shelf(places: Iterable[Path]) -> list[Path]:
    """Every `runbooks/*.toml` under `places`, then the shipped ones; each file once, whatever its path."""
    folders = [*(place / FOLDER for place in places), *shipped_folders()]
    found: dict[Path, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            found.setdefault(path.resolve(), path)
    return list(found.values())
