"""`console lint`: runbooks and the inventory, without asking a host."""

from __future__ import annotations

import argparse
from pathlib import Path

from console.cli.inventory import candidates, inventory_path
from console.cli.output import Output
from console.engines.registry import engine_named
from console.errors import ConsoleError, UsageError
from console.planning import lint
from console.schema.hosts import load_inventory
from console.schema.toml_file import read_toml


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="runbooks and inventories; default: the inventory and runbooks/*.toml"
    )


def run(arguments: argparse.Namespace, output: Output) -> int:
    files = [Path(name) for name in arguments.files] or defaults(arguments)
    if not files:
        raise UsageError("nothing to check: no inventory, and no runbooks/*.toml here", hint="console lint FILE")
    code = 0
    for path in files:
        try:
            what = check(path)
        except ConsoleError as error:
            code = output.error(error)
        else:
            output.data(f"{path}: {what}")
    return code


def defaults(arguments: argparse.Namespace) -> list[Path]:
    found = sorted(Path("runbooks").glob("*.toml"))
    if arguments.hosts or any(path.exists() for path in candidates()):
        found.insert(0, inventory_path(arguments))
    return found


def check(path: Path) -> str:
    """What the file is and that it is right. Raises InvalidFileError."""
    _, table = read_toml(path)
    if "hosts" in table or "results" in table:
        inventory = load_inventory(path)
        for target in inventory.targets():
            engine_named(target.service.engine)
        return f"inventory of {len(inventory.hosts)} hosts, {len(inventory.targets())} services"
    runbook = lint.load(path)
    return f"runbook {runbook.name}, {len(runbook.step)} steps"
