"""`console hosts`: list the inventory, add to it, import into it, discover, log in, pin host keys."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.cli import hosts_discover, hosts_import, hosts_login, inventory_edit
from console.cli.connecting import connections
from console.cli.hosts_of import any_target
from console.cli.inventory import inventory
from console.cli.inventory_path import to_edit
from console.cli.output import Output
from console.errors import HostKeyChangedError, UsageError
from console.schema.hosts import Target
from console.schema.names import NAME

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
    adding.add_argument("--engine", required=True, choices=["sglang", "vllm", "llamacpp"])
    adding.add_argument("--url", required=True, help="as seen from the host, such as http://127.0.0.1:30000")
    adding.add_argument("--api-key-env", help="the variable of your environment that holds the key")
    hosts_import.add(commands.add_parser("import", help="add hosts of the SSH config or of an Ansible inventory"))
    hosts_login.add(commands.add_parser("login", help="log in everywhere now, one question at a time"))
    hosts_discover.add(commands.add_parser("discover", help="show what looks like an engine on a host"))
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
    more = {"import": hosts_import.run, "login": hosts_login.run, "discover": hosts_discover.run}
    if arguments.action in more:
        return more[arguments.action](arguments, output)
    from console.views.listings import hosts_table

    output.data(hosts_table(inventory(arguments)))
    return 0


def add_host(arguments: argparse.Namespace, output: Output) -> int:
    """Add one service, and its host where that is new."""
    host_name, slash, service_name = arguments.name.partition("/")
    if not slash or not NAME.fullmatch(host_name) or not NAME.fullmatch(service_name):
        raise UsageError(f"{arguments.name!r}: name it as HOST/SERVICE, with letters, digits, '.', '_' and '-'")
    path = to_edit(arguments)
    before, plain = inventory_edit.text_of(path)
    service: dict[str, Any] = {"unit": arguments.unit, "engine": arguments.engine, "url": arguments.url}
    if arguments.api_key_env:
        service["api_key_env"] = arguments.api_key_env
    host = {
        key: getattr(arguments, key)
        for key in ("address", "port", "user", "jump", "identity", "tags", "protected")
        if getattr(arguments, key)
    }
    _new(plain, host_name, service_name, host, path)
    tables = {host_name: host | {"services": {service_name: service}}}
    inventory_edit.write(path, inventory_edit.with_hosts(before, plain, tables, path))
    output.data(f"{path}: {host_name}/{service_name} added")
    output.note(f"next: console hosts trust {host_name}; console facts {host_name}/{service_name}")
    return 0


def _new(plain: dict[str, Any], host_name: str, service_name: str, host: dict[str, Any], path: Path) -> None:
    """Raises UsageError when the service is there already, or the host with other keys."""
    known = dict(plain.get("hosts", {})).get(host_name, {})
    if service_name in known.get("services", {}):
        raise UsageError(f"{host_name}/{service_name} is in {path} already", hint="edit the file")
    differing = [key for key, value in host.items() if key in known and known[key] != value]
    if differing:
        raise UsageError(f"host {host_name} has another {differing[0]} in {path}", hint="edit the file")


def trust(arguments: argparse.Namespace, output: Output) -> int:
    """Show what the host offers and pin it, once a person has said so."""
    from console.remote.known_hosts import pin

    hosts = inventory(arguments)
    target = any_target(hosts, arguments.host)
    keys, path, standing = asyncio.run(_scan(target, arguments, output))
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


async def _scan(
    target: Target, arguments: argparse.Namespace, output: Output
) -> tuple[list[HostKey], Path, Mapping[str, str]]:
    ways = connections(arguments, output)
    try:
        keys = await ways.scan(target)
        return keys, *ways.standing(target, keys)
    finally:
        await ways.aclose()


def _agreed(output: Output) -> bool:
    if not output.is_terminal:
        return False
    output.note("Do these fingerprints agree with what the host's owner says? Type yes to pin them:")
    return output.read_line().strip() == "yes"
