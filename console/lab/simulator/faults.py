"""What can be made to go wrong: read from a file, so that a running lab can be told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

NAMES = ("oom", "pool-shrinks", "crash-loop", "hang", "stale-port", "slow-load", "lossy-recall", "broken-calls")


@dataclass(frozen=True)
class Fault:
    """`above_context`: only starts with a longer context have it, so that a rollback finds a working engine.

    `lossy-recall` is of an engine that runs: with a quantised KV cache it forgets what stood in prompts longer than
    `above_context` tokens. `broken-calls` likewise: calls of tools and JSON end in the middle.
    """

    name: str = ""
    above_context: int = 0

    def hits(self, name: str, context_length: int) -> bool:
        return self.name == name and context_length > self.above_context


def read_fault(path: str) -> Fault:
    """The fault in force now. The file holds a name, or JSON with `name` and `above_context`; no file is no fault."""
    try:
        text = Path(path).read_text(encoding="utf-8").strip() if path else ""
    except OSError:
        return Fault()
    if text.startswith("{"):
        found = json.loads(text)
        return Fault(str(found.get("name") or ""), int(found.get("above_context") or 0))
    return Fault(text)


def write_fault(path: Path, name: str | None, above_context: int = 0) -> None:
    """In force from the next start on; None clears it. Raises ValueError for a name that is not in NAMES."""
    if name is None:
        path.unlink(missing_ok=True)
        return
    if name not in NAMES:
        raise ValueError(f"no such fault: {name}; there are {', '.join(NAMES)}")
    draft = path.with_name(path.name + ".new")
    draft.write_text(json.dumps({"name": name, "above_context": above_context}), encoding="utf-8")
    draft.replace(path)
