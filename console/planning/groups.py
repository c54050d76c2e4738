"""The group in front of a target: who else of it serves, and what it will be while only this one changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field

from console.engines.base import Engine
from console.errors import ConsoleError, RefusedError
from console.planning import references
from console.schema.facts import Facts
from console.schema.group import GroupSeen, Member
from console.schema.hosts import Inventory, Target
from console.schema.runbook import Runbook

LOOK_S = 20.0
# What a hook may refer to: it is of the inventory, where no runbook's variables are known.
NAMES = references.HOST_NAMES | references.SERVICE_NAMES


@dataclass
class Groups:
    """Looks at the members that a run does not change itself, each once; `glance` reads one without sudo."""

    inventory: Inventory
    of_run: Collection[str]
    glance: Callable[[Target], Awaitable[Facts]]
    seen: dict[str, asyncio.Task[Member]] = field(default_factory=dict)

    async def of(self, target: Target, runbook: Runbook) -> tuple[GroupSeen, ...]:
        """The groups of a target; nobody is looked at where the runbook has no use for it."""
        if not any(step.uses in ("lb.out", "lb.in", "unit.set") for step in runbook.step):
            return ()
        names = [name for name, group in self.inventory.groups.items() if target.name in group.members]
        return tuple([await self._group(name, target) for name in names])

    async def _group(self, name: str, target: Target) -> GroupSeen:
        group = self.inventory.groups[name]
        others = [member for member in dict.fromkeys(group.members) if member != target.name]
        members = await asyncio.gather(*map(self._member, others))
        return GroupSeen(name=name, min_ready=group.min_ready, others=tuple(members), balancer=group.balancer)

    async def _member(self, name: str) -> Member:
        if name in self.of_run:
            return Member(name=name, ready=True, of_run=True)
        if name not in self.seen:
            self.seen[name] = asyncio.ensure_future(self.look(name))
        return await asyncio.shield(self.seen[name])

    async def look(self, name: str) -> Member:
        """How a member stands now. Raises nothing of ours: what cannot be seen is not ready."""
        try:
            facts = await asyncio.wait_for(self.glance(self.inventory.target(name)), LOOK_S)
        except TimeoutError:
            return Member(name=name, ready=False, why=f"no answer within {LOOK_S:g} s")
        except ConsoleError as error:
            return Member(name=name, ready=False, why=error.message)
        if facts.serving is None:
            return Member(name=name, ready=False, why=facts.serving_reason or "the engine does not answer")
        return Member(name=name, ready=True, context_tokens=facts.serving.context_length)


def mixed(groups: Collection[GroupSeen], after: str, engine: Engine) -> list[str]:
    """What clients of each group meet once the targets of this run have their new window and the others keep theirs."""
    try:
        window = int(engine.parse_value("context_length", after))
    except (ValueError, KeyError):
        return []
    said = []
    for group in groups:
        stay = [member for member in group.others if not member.of_run]
        known = [member.context_tokens for member in stay if member.context_tokens is not None]
        unseen = len(stay) - len(known)
        count = len(group.others) + 1
        windows = [*known, *[window] * (count - len(stay))]
        short = sum(each < max(windows) for each in windows)
        if short:
            more = f"; {unseen} could not be seen" if unseen else ""
            said.append(f"group {group.name} will be mixed: {short} of {count} still refuse above {min(windows)}{more}")
        elif unseen:
            said.append(f"group {group.name} may be mixed: {unseen} of {count} could not be seen")
    return said


def filled(text: str, target: Target) -> str:
    """A hook with its references replaced. Raises InvalidFileError for a name that a hook may not use."""
    references.check(text, NAMES, where=f"the balancer's hook of {target.name}")
    return str(references.render(text, references.values_of(target, {}, None)))


def enough(group: GroupSeen, name: str) -> None:
    """Raise RefusedError where too few of the others serve while `name` is out."""
    if group.ready >= group.min_ready:
        return
    bad = "; ".join(f"{member.name}: {member.why}" for member in group.others if not member.ready)
    raise RefusedError(
        f"with {name} out of the balancer {group.ready} of group {group.name} would serve, "
        f"fewer than its min_ready = {group.min_ready}{f' ({bad})' if bad else ''}",
        where=name,
        hint=f"mend the others first, or change groups.{group.name}.min_ready in the inventory",
    )
