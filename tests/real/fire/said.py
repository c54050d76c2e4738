"""What a proof found: one line each, met or not."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field


@dataclass
class Said:
    """The lines of one proof, shown as they are found."""

    proof: str
    wrong: int = 0
    lines: list[str] = field(default_factory=list)

    def line(self, met: bool, text: str) -> None:
        self.wrong += not met
        self.lines.append(f"{'met    ' if met else 'NOT MET'}  {self.proof}: {text}")
        sys.stdout.write(self.lines[-1] + "\n")
        sys.stdout.flush()
