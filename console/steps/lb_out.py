"""`lb.out`: take the target out of its group's front door, so that the restart meets no client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from console.schema.change import WHERE, BalancerChange
from console.schema.group import GroupSeen
from console.steps.base import Look, Proposal, Skip, Step


class LbOut(Step):
    """Take it out by the hook of `[groups.NAME.balancer]`; skipped where there is none.

    Refused where fewer members than the group's `min_ready` would serve meanwhile. Whatever ends the run before `lb.in`
    puts it in again, except where nothing serves: then that is told.
    """

    uses: ClassVar[str] = "lb.out"
    changes: ClassVar[bool] = True
    summary: ClassVar[str] = "take it out of the balancer"

    def plan(self, look: Look) -> Iterator[Proposal]:
        group = in_front(look)
        yield group if isinstance(group, Skip) else moved(look, group, "out")


def in_front(look: Look) -> GroupSeen | Skip:
    """The group whose balancer stands before the target; a sentence where none has a hook."""
    hooked = [group for group in look.groups if group.balancer is not None]
    if hooked:
        return hooked[0]
    if look.groups:
        return Skip(f"no balancer hook is set for group {look.groups[0].name}: it stays in")
    return Skip("it is in no group, so nothing stands in front of it that is known")


def moved(look: Look, group: GroupSeen, way: str) -> BalancerChange:
    """The change, with the hook's references filled in."""
    hook = group.balancer
    assert hook is not None
    change = BalancerChange.model_validate(
        {
            "id": look.change_id,
            "step": look.step_id,
            "way": way,
            "member": look.target.name,
            "group": group.name,
            "out": look.filled(hook.out),
            "back": look.filled(hook.back),
            "state": look.filled(hook.state),
            "runs": hook.runs,
            "sudo": hook.sudo,
            "token_env": hook.token_env or "",
            "timeout_s": look.timeout_s or hook.timeout,
        }
    )
    words = "take {} out of the balancer of {}" if way == "out" else "put {} into the balancer of {}"
    summary = f"{words.format(change.member, group.name)} ({WHERE[hook.runs]}: {change.action})"
    return change.model_copy(update={"summary": summary})
