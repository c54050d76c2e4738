"""Which results repository and which target a question is about; the inventory helps, but is not needed."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from console.errors import NoSuchTargetError, UsageError
from console.results.history import History

if TYPE_CHECKING:
    from console.schema.hosts import Inventory


def open_history(arguments: argparse.Namespace) -> tuple[History, Inventory | None]:
    """The repository of --results, else the inventory's; with it the inventory, where there is one."""
    from console.cli.inventory import inventory

    if arguments.results and not arguments.hosts:
        try:
            hosts: Inventory | None = inventory(arguments)
        except UsageError:
            hosts = None
    else:
        hosts = inventory(arguments)
    path = Path(arguments.results) if arguments.results else hosts.results_path if hosts else Path()
    return History(path, os.environ), hosts


def target_name(name: str, hosts: Inventory | None) -> str:
    """The target as its records name it: by the inventory, else as given; a host long gone has records, too."""
    if not name or hosts is None:
        return name
    try:
        return hosts.target(name).name
    except NoSuchTargetError:
        return name
