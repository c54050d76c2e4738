"""What the targets of one run that are under way at a time tell each other, so that a record can name the odd one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.analysis.diagnosis.group import Replica


@dataclass
class Together:
    """Replicas as their steps found them. Only those under way are waited for, not who has no place yet."""

    told: dict[str, Replica] = field(default_factory=dict)
    _under_way: set[str] = field(default_factory=set)
    _all_told: asyncio.Event = field(default_factory=asyncio.Event)

    def begins(self, target: str) -> None:
        self._under_way.add(target)
        self._all_told.clear()

    def ends(self, target: str) -> None:
        """It told, or it never will."""
        self._under_way.discard(target)
        if not self._under_way:
            self._all_told.set()

    async def others(self, target: str, replica: Replica) -> dict[str, Replica]:
        """What all of them told, once nobody is waited for any more."""
        self.told[target] = replica
        self.ends(target)
        await self._all_told.wait()
        return dict(self.told)
