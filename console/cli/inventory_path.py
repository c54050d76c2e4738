"""Where the inventory is: --hosts, $CONSOLE_HOSTS, ./hosts.toml, the config folder."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from console.errors import UsageError


def candidates() -> list[Path]:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return [Path("hosts.toml"), config / "console" / "hosts.toml"]


def inventory_path(arguments: argparse.Namespace) -> Path:
    """The file to read; the first of the usual places that exists. Raises UsageError when there is none."""
    named = arguments.hosts or os.environ.get("CONSOLE_HOSTS")
    if named:
        return Path(named).expanduser()
    for path in candidates():
        if path.exists():
            return path
    raise UsageError(
        f"no inventory: neither {' nor '.join(map(str, candidates()))}",
        hint="console hosts add NAME --unit UNIT --engine sglang --url URL, or --hosts FILE",
    )


def to_edit(arguments: argparse.Namespace) -> Path:
    """The inventory to edit; a new ./hosts.toml where there is none."""
    try:
        return inventory_path(arguments)
    except UsageError:
        return Path("hosts.toml")
