"""What the numbers of NVIDIA's Xid lines mean, and after which of them a process cannot start on that GPU.

Source: NVIDIA's "XID Errors" (docs.nvidia.com/deploy/xid-errors), in our words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_XID = re.compile(r"NVRM: Xid \(PCI:([0-9A-Fa-f:.]+)\): (\d+)")


@dataclass(frozen=True)
class Meaning:
    """One number. `stops`: the GPU does not take work before it was reset, or the host rebooted."""

    text: str
    stops: bool = False


MEANINGS: Mapping[int, Meaning] = {
    13: Meaning("a kernel of the application faulted"),
    31: Meaning("the application read or wrote an address that is not its own"),
    32: Meaning("a command buffer arrived damaged"),
    38: Meaning("the driver's firmware failed"),
    43: Meaning("the GPU stopped a process that had failed"),
    45: Meaning("work was cleared away, mostly after another error"),
    48: Meaning("a memory error that could not be corrected", stops=True),
    61: Meaning("the GPU's own controller stopped", stops=True),
    62: Meaning("the GPU's own controller halted", stops=True),
    63: Meaning("a memory row was noted for replacement: done at the next reset"),
    64: Meaning("a memory row could not be replaced", stops=True),
    68: Meaning("the video decoder failed"),
    69: Meaning("a command of the application was not valid"),
    74: Meaning("an NVLink failed: engines over several GPUs hang or do not start"),
    79: Meaning("the GPU has fallen off the bus", stops=True),
    92: Meaning("many corrected memory errors"),
    94: Meaning("a memory error that hit one process only"),
    95: Meaning("a memory error that may have hit every process: the GPU needs a reset", stops=True),
    109: Meaning("a switch between contexts took too long"),
    119: Meaning("the GPU's system processor does not answer", stops=True),
    120: Meaning("the GPU's system processor failed", stops=True),
    137: Meaning("an NVLink refused an access of the application"),
    140: Meaning("a memory error that could not be repaired", stops=True),
    143: Meaning("the GPU did not initialise", stops=True),
    149: Meaning("an NVLink failed: engines over several GPUs hang or do not start"),
    154: Meaning("the GPU says that it needs a reset, a drain or a reboot", stops=True),
}


@dataclass(frozen=True)
class Xid:
    """One line: the GPU's bus id, the number, and its meaning; None for a number that stands in no table of ours."""

    bus: str
    number: int
    meaning: Meaning | None

    @property
    def text(self) -> str:
        return f"Xid {self.number} on GPU {self.bus}: {self.meaning.text if self.meaning else 'not in our table'}"


def read_xids(lines: Sequence[str]) -> tuple[Xid, ...]:
    """The Xids of kernel lines, oldest first."""
    found = (_XID.search(line) for line in lines)
    return tuple(Xid(match[1], int(match[2]), MEANINGS.get(int(match[2]))) for match in found if match)
