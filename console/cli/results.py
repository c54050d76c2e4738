"""Which results repository and which target a question is about; the inventory helps, but is not needed."""

from __future__ import annotations

import argparse
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.errors import UsageError
from console.results.history import History


@dataclass(frozen=True)
class Known:
    """What a question needs of the inventory; read without checking it, which would take longer than the question."""

    results: Path
    targets: tuple[str, ...]

    def named(self, name: str) -> str:
        """`host/service` for a host with one service; else the name as given."""
        of_host = [target for target in self.targets if target.partition("/")[0] == name]
        return of_host[0] if len(of_host) == 1 else name


def open_history(arguments: argparse.Namespace) -> tuple[History, Known | None]:
    """The repository of --results, else the inventory's; with it the inventory, where there is one."""
    hosts: Known | None = None
    try:
        hosts = known(arguments)
    except UsageError:
        if not arguments.results or arguments.hosts:
            raise
    path = Path(arguments.results) if arguments.results else hosts.results if hosts else Path()
    return History(path, os.environ), hosts


def known(arguments: argparse.Namespace) -> Known:
    """The inventory as far as it is needed here. Raises UsageError as reading it whole does."""
    from console.cli.inventory_path import inventory_path

    path = inventory_path(arguments)
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text())
        hosts = {name: host.get("services", {}) for name, host in table.get("hosts", {}).items()}
        results = Path(table.get("results", {}).get("path", "../findings")).expanduser()
        targets = tuple(f"{name}/{service}" for name, services in hosts.items() for service in services)
        return Known((path.absolute().parent / results).resolve(), targets)
    except (OSError, ValueError, AttributeError, TypeError):
        from console.schema.hosts import load_inventory

        whole = load_inventory(path)  # says what is wrong, and where
        return Known(whole.results_path, tuple(target.name for target in whole.targets()))


def target_name(name: str, hosts: Known | None) -> str:
    """The target as its records name it: by the inventory, else as given; a host long gone has records, too."""
    return hosts.named(name) if name and hosts is not None else name
