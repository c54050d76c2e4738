"""`console lint`: runbooks and the inventory, without asking a host; or a runbook against a target, read only."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path

from console.cli import runbooks
from console.cli.inventory import candidates, inventory, inventory_path
from console.cli.output import Output
from console.engines.registry import engine_named
from console.errors import ConsoleError, UsageError
from console.planning import lint
from console.schema.hosts import load_inventory
from console.schema.outcome import worst
from console.schema.toml_file import read_toml


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="runbooks and inventories; default: the inventory and runbooks/*.toml"
    )

    parser.add_argument("--against", metavar="TARGET", help="look at this target, too: would it go well there?")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="assignments", help="set a variable"
    )


def against(arguments: argparse.Namespace, files: list[Path], output: Output) -> int:
    """Every runbook planned on one target: its warnings, and the refusal its run would end with."""
    from console.planning.bind import bind
    from console.planning.groups import Groups
    from console.planning.preview import Looking, Preview
    from console.remote.ssh import Connections

    hosts = inventory(arguments)
    (target,) = bind(hosts, [arguments.against], (), None)

    async def look() -> list[tuple[Path, Preview]]:
        looking = Looking(Connections(os.environ), output.redactor, os.environ, hosts.results_path)
        groups = Groups(hosts, {target.name}, looking.glance)
        try:
            found = []
            for path in files:
                runbook = lint.load(path)
                variables = lint.variables(runbook, runbooks.assignments(arguments.assignments))
                found.append((path, await looking.preview(runbook, target, variables, groups=groups)))
            return found
        finally:
            await looking.aclose()
            await looking.connections.aclose()

    code = 0
    for path, preview in asyncio.run(look()):
        for warning in preview.plan.warnings if preview.plan is not None else ():
            output.data(f"{target.name}: {warning}")
        if preview.error is not None:
            code = worst([code, output.error(preview.error)])
        else:
            output.data(f"{path}: would go on {target.name}")
    return code


def run(arguments: argparse.Namespace, output: Output) -> int:
    files = [Path(name) for name in arguments.files] or defaults(arguments)
    if not files:
        raise UsageError("nothing to check: no inventory, and no runbooks/*.toml here", hint="console lint FILE")
    if arguments.against:
        return against(arguments, [path for path in files if not _is_inventory(path)], output)
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


def _is_inventory(path: Path) -> bool:
    _, table = read_toml(path)
    return "hosts" in table or "results" in table


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
