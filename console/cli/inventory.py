"""The inventory that a command was given, read whole and checked."""

from __future__ import annotations

import argparse

from console.cli.inventory_path import candidates, inventory_path
from console.schema.hosts import Inventory, load_inventory

__all__ = ["candidates", "inventory", "inventory_path"]


def inventory(arguments: argparse.Namespace) -> Inventory:
    """Read once a command, however many parts of it ask."""
    known: Inventory | None = getattr(arguments, "known_inventory", None)
    if known is None:
        known = arguments.known_inventory = load_inventory(inventory_path(arguments))
    return known
