"""`lb.in`: put the target into its group's front door again, once it is proven and measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from console.steps.base import Look, Proposal, Skip, Step
from console.steps.lb_out import in_front, moved


class LbIn(Step):
    """Put it in by the hook of `[groups.NAME.balancer]`; skipped where there is none."""

    uses: ClassVar[str] = "lb.in"
    changes: ClassVar[bool] = True
    summary: ClassVar[str] = "put it into the balancer"

    def plan(self, look: Look) -> Iterator[Proposal]:
        group = in_front(look)
        yield group if isinstance(group, Skip) else moved(look, group, "in")
