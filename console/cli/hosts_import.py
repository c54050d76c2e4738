"""`console hosts import`: hosts of the SSH config or of an Ansible inventory, added to ours with its comments kept."""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from console.cli import inventory_edit
from console.cli.inventory_path import to_edit
from console.cli.output import Output
from console.errors import InvalidFileError, UsageError
from console.schema.names import NAME


def add(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--ssh-config", nargs="?", const="*", metavar="GLOB", help="hosts that ~/.ssh/config names (such as 'gpu*')"
    )
    source.add_argument("--ansible", metavar="INVENTORY", help="an inventory file, INI or YAML")
    parser.add_argument("--limit", metavar="TAG", help="only hosts of this Ansible group")
    parser.add_argument("--dry-run", action="store_true", help="show what would be added and write nothing")


def run(arguments: argparse.Namespace, output: Output) -> int:
    found = _of_ssh(arguments.ssh_config) if arguments.ssh_config else _of_ansible(Path(arguments.ansible))
    if arguments.limit:
        found = {name: keys for name, keys in found.items() if arguments.limit in keys.get("tags", ())}
    path = to_edit(arguments)
    before, plain = inventory_edit.text_of(path)
    known = plain.get("hosts", {})
    odd = [name for name in found if not NAME.fullmatch(name)]
    fresh = {name: keys for name, keys in found.items() if name not in known and name not in odd}
    if odd:
        output.note(f"left out, not a name here: {', '.join(odd)}")
    there = len(found) - len(odd) - len(fresh)
    if not fresh:
        output.note(f"nothing to add: {there} of {len(found)} hosts are in {path} already")
        return 0
    after = inventory_edit.with_hosts(before, plain, fresh, path)
    for name, keys in fresh.items():
        output.data("  ".join([name, *(f"{key}={_shown(value)}" for key, value in keys.items())]))
    if not arguments.dry_run:
        inventory_edit.write(path, after)
    done = "would be added to" if arguments.dry_run else "added to"
    output.note(f"{len(fresh)} hosts {done} {path}" + (f"; {there} are there already" if there else ""))
    output.note("next: console hosts discover HOST shows what serves there; console hosts add HOST/SERVICE …")
    return 0


def _shown(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def _of_ssh(pattern: str) -> dict[str, Mapping[str, Any]]:
    """Every host that the config names outright: what it says of them is read from there at each connection."""
    from console.remote.config import named_hosts

    return {name: {} for name in named_hosts() if fnmatch.fnmatchcase(name, pattern)}


def _of_ansible(path: Path) -> dict[str, Mapping[str, Any]]:
    from console.schema.ansible_inventory import hosts_of

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFileError(f"cannot be read: {error}", where=str(path)) from error
    if path.suffix not in (".yml", ".yaml", ".ini", "", ".cfg", ".hosts"):
        raise UsageError(f"{path} is neither INI nor YAML", hint="ansible-inventory -i SOURCE --list --yaml > FILE")
    yaml = path.suffix in (".yml", ".yaml") or text.lstrip().startswith(("---", "all:"))
    return dict(hosts_of(text, where=str(path), yaml=yaml))
