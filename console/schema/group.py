"""A group as a plan sees it from one of its members: who else serves there now, and with which window."""

from __future__ import annotations

from console.schema.hosts import Balancer
from console.schema.names import Frozen


class Member(Frozen):
    """Another member of the group. `of_run`: the same run changes it, too, so it was not looked at beside that."""

    name: str
    ready: bool
    context_tokens: int | None = None
    why: str = ""  # why it does not count as ready
    of_run: bool = False


class GroupSeen(Frozen):
    """One group of a target, without the target itself."""

    name: str
    min_ready: int
    others: tuple[Member, ...] = ()
    balancer: Balancer | None = None

    @property
    def ready(self) -> int:
        return sum(member.ready for member in self.others)
