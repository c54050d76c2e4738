"""`console hosts login [HOST…]`: log in everywhere now, one question at a time, before a night's work begins."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from console.cli.connecting import connections
from console.cli.hosts_of import any_target
from console.cli.inventory import inventory
from console.cli.output import Output
from console.errors import ConsoleError
from console.schema.hosts import Target
from console.schema.outcome import worst


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="HOST", help="all of the inventory unless some are named")


def run(arguments: argparse.Namespace, output: Output) -> int:
    hosts = inventory(arguments)
    names = arguments.names or [name for name, host in hosts.hosts.items() if host.services]
    return asyncio.run(_login([any_target(hosts, name) for name in names], arguments, output))


async def _login(targets: Sequence[Target], arguments: argparse.Namespace, output: Output) -> int:
    ways = connections(arguments, output)
    codes = []
    try:
        for target in targets:
            try:
                opened = await ways.open(target)
            except ConsoleError as error:
                codes.append(output.error(error))
                continue
            ends = opened.certificate_ends
            until = f"  certificate ends {datetime.fromtimestamp(ends, UTC):%Y-%m-%d %H:%MZ}" if ends else ""
            output.data(f"{target.host_name}  {opened.auth}{until}")
            for warning in opened.warnings:
                output.note(f"{target.host_name}: {warning}")
            opened.connection.close()
            await opened.connection.wait_closed()
            codes.append(0)
    finally:
        await ways.aclose()
    return worst(codes)
