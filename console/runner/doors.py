"""Who of a group is out of its balancer: never so many that fewer than its `min_ready` serve."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from console.planning.groups import enough
from console.schema.change import BalancerChange
from console.schema.group import GroupSeen, Member
from console.schema.hosts import Group


@dataclass
class Doors:
    """Of one run. Its own targets are known by what they do; everybody else is looked at before a target goes out.

    `of_run`: the run's targets. `out`: those that are out now, or whose run ended without the proof that they serve.
    """

    groups: Mapping[str, Group] = field(default_factory=dict)
    of_run: frozenset[str] = frozenset()
    look: Callable[[str], Awaitable[Member]] | None = None
    out: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)
    turns: dict[str, asyncio.Condition] = field(default_factory=lambda: defaultdict(asyncio.Condition))

    async def leave(self, change: BalancerChange, waits: Callable[[str], object]) -> None:
        """Wait until the target may go out. Raises RefusedError where no other target of this run can come back first.

        `waits` is told once, when it has to wait.
        """
        group = self.groups.get(change.group)
        if group is None:
            return
        told = False
        turn = self.turns[change.group]
        async with turn:
            while True:
                others = [name for name in dict.fromkeys(group.members) if name != change.member]
                members = await asyncio.gather(*map(self._stands, others))
                seen = GroupSeen(name=change.group, min_ready=group.min_ready, others=tuple(members))
                if seen.ready >= seen.min_ready:
                    self.out.add(change.member)
                    return
                if not any(name in self.out and name not in self.over for name in others):
                    enough(seen, change.member)
                if not told:
                    waits(f"waits until another of group {change.group} serves again: min_ready = {group.min_ready}")
                    told = True
                await turn.wait()

    async def back(self, change: BalancerChange) -> None:
        """It is in again."""
        async with self.turns[change.group]:
            self.out.discard(change.member)
            self.turns[change.group].notify_all()

    async def ended(self, name: str, *, serves: bool) -> None:
        """The run of a target is over; one that is still out, or was not shown to serve, does not count any more."""
        for group_name, group in self.groups.items():
            if name in group.members:
                async with self.turns[group_name]:
                    self.over.add(name)
                    if not serves:
                        self.out.add(name)
                    self.turns[group_name].notify_all()

    async def _stands(self, name: str) -> Member:
        if name in self.out:
            why = "out of the balancer" if name not in self.over else "its run did not end well"
            return Member(name=name, ready=False, why=why, of_run=True)
        if name in self.of_run:
            return Member(name=name, ready=True, of_run=True)
        if self.look is None:
            return Member(name=name, ready=False, why="it cannot be looked at from here")
        return await self.look(name)
