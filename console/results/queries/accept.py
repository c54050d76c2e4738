"""What a step committed on record, by the class of text that was generated: newest first."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from console.errors import ConsoleError
from console.results.queries.list import list_records
from console.results.queries.speed import LOOK_BACK

ACCEPT = re.compile(r"\baccept_length[ =](\d+(?:\.\d+)?)")
_CLASS = re.compile(r"\btext_class=([\w-]+)")


def accept_by_class(path: Path, target: str, *, environment: Mapping[str, str] = os.environ) -> dict[str, float]:
    """The newest figure of each class. Nothing without a repository or records; never raises."""
    try:
        rows = list_records(path, limit=LOOK_BACK, target=target, environment=environment)
    except ConsoleError:
        return {}
    found: dict[str, float] = {}
    for row in rows:
        for text in row.findings:
            accept, text_class = ACCEPT.search(text), _CLASS.search(text)
            if accept and text_class:
                found.setdefault(text_class[1], float(accept[1]))
    return found
