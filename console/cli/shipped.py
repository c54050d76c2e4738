"""The runbooks that come with the program: in the package when installed, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

import console
from console.errors import InvalidFileError


def runbook_path(name: str) -> Path:
    """The path of a shipped runbook, such as `extend_context.toml`."""
    package = Path(console.__file__).parent
    for folder in (package / "runbooks", package.parent / "runbooks"):
        if (folder / name).is_file():
            return folder / name
    raise InvalidFileError("this runbook is not installed", where=name)
