"""`console hosts discover HOST`: what looks like an engine there, and the commands that would add it."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shlex
from typing import TYPE_CHECKING

from console.cli.connecting import connections
from console.cli.inventory import inventory
from console.cli.output import Output
from console.clock import SystemClock
from console.schema.hosts import Host, Inventory, Service, Target

if TYPE_CHECKING:
    from console.facts.discover import Found

KNOWN = ("sglang", "vllm", "llamacpp")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help="a host of the inventory, or any name that SSH knows")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace, output: Output) -> int:
    from console.views.tables import table

    hosts = inventory(arguments)
    target = host_target(hosts, arguments.host)
    found = asyncio.run(_discover(target, arguments, output))
    known = {service.unit for service in target.host.services.values()}
    if arguments.json:
        for each in found:
            output.json({**vars(each), "known": each.name in known})
        return 0
    if not found:
        output.note(f"nothing on {arguments.host} looks like an engine")
        return 0
    rows = [
        [
            each.name,
            each.kind,
            each.engine or "?",
            each.state,
            str(each.port or "-"),
            "yes" if each.name in known else "no",
        ]
        for each in found
    ]
    output.data("\n".join(table(["name", "kind", "engine", "state", "port", "known"], rows)))
    for each in found:
        if each.kind == "unit" and each.engine in KNOWN and each.name not in known:
            output.note(command(arguments.host, each))
    return 0


def command(host: str, found: Found) -> str:
    """What would add it; the service's name is the unit's without what every such unit is called."""
    name = re.sub(rf"\A{found.engine}[-_.@]|\.service\Z", "", found.name)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "model"
    port = found.port or "PORT"
    words = ["console", "hosts", "add", f"{host}/{name}", "--unit", found.name, "--engine", found.engine]
    return "add it: " + shlex.join([*words, "--url", f"http://127.0.0.1:{port}"])


def host_target(hosts: Inventory, name: str) -> Target:
    """A target that stands for the host alone."""
    service = Service(unit="unknown.service", engine="sglang", url="http://127.0.0.1:1")
    return Target(
        host_name=name,
        service_name="unknown",
        host=hosts.hosts.get(name, Host()),
        service=service,
        defaults=hosts.defaults,
    )


async def _discover(target: Target, arguments: argparse.Namespace, output: Output) -> tuple[Found, ...]:
    from console.facts.discover import discover
    from console.remote.session import connect_reader

    ways = connections(arguments, output)
    try:
        reader = await connect_reader(
            target, redactor=output.redactor, clock=SystemClock(), environment=os.environ, connections=ways
        )
        try:
            return await discover(reader)
        finally:
            await reader.aclose()
    finally:
        await ways.aclose()
