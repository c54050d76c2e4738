"""A host of the inventory where its services do not matter."""

from __future__ import annotations

from console.errors import UsageError
from console.schema.hosts import Inventory, Target


def any_target(hosts: Inventory, name: str) -> Target:
    """A target of the host; which service does not matter. Raises UsageError, NoSuchTargetError."""
    if name not in hosts.hosts:
        hosts.target(name)  # raises with the nearest name
    for target in hosts.targets():
        if target.host_name == name:
            return target
    raise UsageError(f"host {name} has no service in the inventory", hint=f"console hosts add {name}/SERVICE …")
