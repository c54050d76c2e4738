"""Which targets a runbook runs on. Nothing ever means "all"."""

from __future__ import annotations

from collections.abc import Sequence

from console.errors import NoSuchTargetError
from console.schema.hosts import Inventory, Target
from console.schema.names import nearest


def bind(inventory: Inventory, names: Sequence[str], runbook_targets: Sequence[str], tag: str | None) -> list[Target]:
    """The command line's targets, else the runbook's, else the inventory's only service; --limit keeps those of a tag.

    With --limit alone: every target of a host with that tag. The parts of a pair are chosen by name alone, for they
    belong to another target. Raises NoSuchTargetError with the list to choose from.
    """
    everything = [target for target in inventory.targets() if not target.part_of]
    where = str(inventory.path or "inventory")
    if tag is not None:
        tags = {known for host in inventory.hosts.values() for known in host.tags}
        if tag not in tags:
            raise NoSuchTargetError(f"--limit {tag}: no host has this tag{nearest(tag, tags)}", where=where)
    if names or runbook_targets:
        chosen = [target for name in (names or runbook_targets) for target in resolve(inventory, name)]
    elif tag is not None:
        chosen = everything
    elif len(everything) == 1:
        return everything
    else:
        listed = ", ".join(target.name for target in everything) or "none"
        raise NoSuchTargetError(
            "no target named, and there is more than one" if everything else "no target there",
            where=where,
            hint=f"targets: {listed}",
        )
    if tag is not None:
        chosen = [target for target in chosen if tag in target.host.tags]
        if not chosen:
            raise NoSuchTargetError(f"--limit {tag} leaves no target", where=where)
    unique = {target.name: target for target in chosen}
    return list(unique.values())


def resolve(inventory: Inventory, name: str) -> list[Target]:
    """A target, or the members of a group of that name."""
    if name in inventory.groups and name not in inventory.hosts:
        return [inventory.target(member) for member in inventory.groups[name].members]
    return [inventory.target(name)]
