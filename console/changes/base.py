"""What every kind of change can do: be made, be looked for, be undone; each from the change alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

# before: the host is as it was · after: as the change leaves it · foreign: neither, somebody else was there
# unknown: it cannot be told
Seen = Literal["before", "after", "foreign", "unknown"]


@dataclass(frozen=True)
class Made:
    """What a change found and left, for the record; `already`: it was so before we came."""

    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    already: bool = False
    message: str = ""
