"""`console hosts`: list the inventory, add to it without losing a comment, pin host keys."""

from __future__ import annotations

import argparse
import asyncio
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.cli.inventory import inventory, inventory_path
from console.cli.output import Output
from console.errors import HostKeyChangedError, InvalidFileError, StateError, UsageError
from console.schema.hosts import Inventory, Target, load_inventory
from console.schema.names import NAME
from console.schema.toml_file import read_toml, validate

if TYPE_CHECKING:
    from console.remote.known_hosts import HostKey


def add(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", metavar="ACTION")
    commands.add_parser("list", help="every target (the default)")
    adding = commands.add_parser("add", help="add a host, or a service to one, to the inventory")
    adding.add_argument("name", metavar="HOST/SERVICE")
    adding.add_argument("--address", help="where it is, when the SSH config does not say")
    adding.add_argument("--port", type=int)
    adding.add_argument("--user")
    adding.add_argument("--jump", help="a bastion, as in ssh -J")
    adding.add_argument("--identity", help="a key file")
    adding.add_argument("--tag", action="append", default=[], dest="tags")
    adding.add_argument("--protected", action="store_true", help="typed confirmation and a reason for every change")
    adding.add_argument("--unit", required=True, help="the systemd unit, such as sglang-k26.service")
    adding.add_argument("--engine", required=True, choices=["sglang"])
    adding.add_argument("--url", required=True, help="as seen from the host, such as http://127.0.0.1:30000")
    adding.add_argument("--api-key-env", help="the variable of your environment that holds the key")
    trusting = commands.add_parser("trust", help="show a host's keys and pin them")
    trusting.add_argument("host", metavar="HOST")
    trusting.add_argument(
        "--yes", action="store_true", help="pin without asking; compare the fingerprints elsewhere first"
    )


def run(arguments: argparse.Namespace, output: Output) -> int:
    if arguments.action == "add":
        return add_host(arguments, output)
    if arguments.action == "trust":
        return trust(arguments, output)
    from console.views.listings import hosts_table

    output.data(hosts_table(inventory(arguments)))
    return 0


def add_host(arguments: argparse.Namespace, output: Output) -> int:
    """Edit the file with its comments kept; what comes out is parsed again and compared before it is written."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    from console.runs.directory import write_durably

    host_name, slash, service_name = arguments.name.partition("/")
    if not slash or not NAME.fullmatch(host_name) or not NAME.fullmatch(service_name):
        raise UsageError(f"{arguments.name!r}: name it as HOST/SERVICE, with letters, digits, '.', '_' and '-'")
    path = _path(arguments)
    before, plain = "schema = 1\n", {"schema": 1}
    if path.exists():
        load_inventory(path)
        before, plain = read_toml(path)
    service: dict[str, Any] = {"unit": arguments.unit, "engine": arguments.engine, "url": arguments.url}
    if arguments.api_key_env:
        service["api_key_env"] = arguments.api_key_env
    host = {
        key: getattr(arguments, key)
        for key in ("address", "port", "user", "jump", "identity", "tags", "protected")
        if getattr(arguments, key)
    }
    wanted = _wanted(plain, host_name, service_name, host, service, path)
    validate(Inventory, wanted, path=path)
    by_hand = InvalidFileError(
        "the file cannot be edited without changing its meaning: add the host by hand", where=str(path)
    )
    try:
        document = tomlkit.parse(before)
        hosts: Any = document.setdefault("hosts", tomlkit.table(is_super_table=True))
        if host_name not in hosts:
            hosts[host_name] = tomlkit.table()
        for key, value in host.items():
            hosts[host_name][key] = value
        services: Any = hosts[host_name].setdefault("services", tomlkit.table(is_super_table=True))
        services[service_name] = service
        after = tomlkit.dumps(document)
        # tomlkit can write something else than was asked for (tomlkit#555, #545): read it back and compare.
        meaning = tomllib.loads(after)
    except (TOMLKitError, ValueError) as error:  # an inline table takes no table
        raise by_hand from error
    if meaning != wanted:
        raise by_hand
    real = path.resolve()  # of a link, what it leads to is edited
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        write_durably(real, after.encode(), mode=real.stat().st_mode & 0o777 if real.exists() else 0o644)
    except OSError as error:
        raise StateError(f"cannot write: {error.strerror or error}", where=str(path)) from error
    output.data(f"{path}: {host_name}/{service_name} added")
    output.note(f"next: console hosts trust {host_name}; console facts {host_name}/{service_name}")
    return 0


def _path(arguments: argparse.Namespace) -> Path:
    """The inventory to edit; a new ./hosts.toml where there is none."""
    try:
        return inventory_path(arguments)
    except UsageError:
        return Path("hosts.toml")


def _wanted(
    plain: dict[str, Any], host_name: str, service_name: str, host: dict[str, Any], service: dict[str, Any], path: Path
) -> dict[str, Any]:
    """The table the file must mean afterwards. Raises UsageError when the service is there already."""
    hosts = dict(plain.get("hosts", {}))
    known = dict(hosts.get(host_name, {}))
    services = dict(known.get("services", {}))
    if service_name in services:
        raise UsageError(f"{host_name}/{service_name} is in {path} already", hint="edit the file")
    differing = [key for key, value in host.items() if key in known and known[key] != value]
    if differing:
        raise UsageError(f"host {host_name} has another {differing[0]} in {path}", hint="edit the file")
    services[service_name] = service
    hosts[host_name] = known | host | {"services": services}
    return plain | {"hosts": hosts}


def trust(arguments: argparse.Namespace, output: Output) -> int:
    """Show what the host offers and pin it, once a person has said so."""
    from console.remote.known_hosts import pin

    hosts = inventory(arguments)
    if arguments.host not in hosts.hosts:
        hosts.target(arguments.host)  # raises with the nearest name
    target = any_target(hosts, arguments.host)
    keys, path, standing = asyncio.run(_scan(target))
    for key in keys:
        output.data(f"{target.address}  {key.kind}  {key.fingerprint}  {standing[key.fingerprint]}")
    if "changed" in standing.values():
        raise HostKeyChangedError(
            f"{target.address} shows another key than the one pinned: somebody may be in between",
            where=target.host_name,
            hint=f"if it was really installed anew: ssh-keygen -f {path} -R {target.address}, then trust it again",
        )
    fresh = [key for key in keys if standing[key.fingerprint] == "unknown"]
    if not fresh:
        output.note(f"all of them are pinned in {path}")
        return 0
    if not arguments.yes and not _agreed(output):
        output.note("nothing was pinned; compare the fingerprints with what the host's owner says")
        return 1
    pin(path, [key.line for key in fresh])
    output.note(f"pinned in {path}")
    return 0


async def _scan(target: Target) -> tuple[list[HostKey], Path, Mapping[str, str]]:
    from console.remote.ssh import Connections

    connections = Connections(os.environ)
    try:
        keys = await connections.scan(target)
        return keys, *connections.standing(target, keys)
    finally:
        await connections.aclose()


def any_target(hosts: Inventory, name: str) -> Target:
    """A target of the host; which service does not matter for its keys."""
    for target in hosts.targets():
        if target.host_name == name:
            return target
    raise UsageError(f"host {name} has no service in the inventory", hint=f"console hosts add {name}/SERVICE …")


def _agreed(output: Output) -> bool:
    if not output.is_terminal:
        return False
    output.note("Do these fingerprints agree with what the host's owner says? Type yes to pin them:")
    return output.read_line().strip() == "yes"
