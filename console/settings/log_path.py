"""Where a unit's output goes instead of the journal, as its files say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from console.schema.facts import UnitFile
from console.untrusted import decode

_OUTPUT = re.compile(r"^\s*(StandardOutput|StandardError)\s*=\s*(\S.*?)?\s*$", re.MULTILINE)
_FILE = re.compile(r"(?:file|append|truncate):(/.*)")


def log_path(files: Sequence[UnitFile]) -> str:
    """The file that takes what an engine logs; "" where that is the journal, or a path with specifiers.

    Engines log to stderr, which goes where stdout goes unless it is told otherwise.
    """
    said: dict[str, str] = {}
    for file in files:
        if file.kind in ("fragment", "dropin"):
            said |= {match[1]: match[2] or "" for match in _OUTPUT.finditer(decode(file.content))}
    target = said.get("StandardError") or ""
    if target in ("", "inherit"):
        target = said.get("StandardOutput") or ""
    found = _FILE.fullmatch(target)
    return found[1] if found and "%" not in found[1] else ""
