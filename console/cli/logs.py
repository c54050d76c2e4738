"""`console logs TARGET…`: the journals of several services as one, by time. Read, shown and forgotten."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.cli.connecting import connections
from console.cli.handover import began
from console.cli.inventory import inventory
from console.cli.output import Output
from console.clock import SystemClock
from console.errors import ConsoleError, UsageError
from console.schema.hosts import Target
from console.schema.outcome import worst

if TYPE_CHECKING:
    from console.facts.journal import JournalLine
    from console.remote.session import Reader

POLL_S = 1.0


@dataclass
class Followed:
    """A target whose journal is read: where it goes on, and why it does not any more."""

    target: Target
    reader: Reader
    cursor: str
    lost: ConsoleError | None = None
    lines: list[JournalLine] = field(default_factory=list)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", nargs="+", metavar="TARGET", help="host/service, or host where it has one service")
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what is written from now on")
    parser.add_argument("--since", default="10m", metavar="TIME", help="how far back (default 10m)")
    parser.add_argument("--grep", default="", metavar="REGEX", help="only lines in which this is found")


def run(arguments: argparse.Namespace, output: Output) -> int:
    try:
        wanted = re.compile(arguments.grep)
    except re.error as error:
        raise UsageError(f"--grep {arguments.grep!r} is no regular expression: {error}") from None
    hosts = inventory(arguments)
    targets = [hosts.target(name) for name in dict.fromkeys(arguments.targets)]
    try:
        return asyncio.run(_show(targets, arguments, output, wanted))
    except KeyboardInterrupt:
        return 0 if arguments.follow else 130


async def _show(
    targets: Sequence[Target], arguments: argparse.Namespace, output: Output, wanted: re.Pattern[str]
) -> int:
    from console.remote.session import connect_reader

    clock = SystemClock()
    cursor = f"@{began(arguments.since, clock.now().timestamp()):.0f}"
    ways = connections(arguments, output)
    followed: list[Followed] = []
    codes = []
    try:
        for target in targets:
            try:
                reader = await connect_reader(
                    target, redactor=output.redactor, clock=clock, environment=os.environ, connections=ways
                )
            except ConsoleError as error:
                codes.append(output.error(error))
                continue
            followed.append(Followed(target, reader, cursor))
        while True:
            await asyncio.gather(*(_read(each) for each in followed))
            _tell(followed, output, wanted)
            for each in [each for each in followed if each.lost is not None]:
                codes.append(output.error(each.lost) if each.lost else 0)
                followed.remove(each)
                await each.reader.aclose()
            if not arguments.follow or not followed:
                return worst(codes or [0])
            await clock.sleep(POLL_S)
    finally:
        for each in followed:
            await each.reader.aclose()
        await ways.aclose()


async def _read(each: Followed) -> None:
    from console.engines.registry import engine_named
    from console.facts.watch import watch_once

    service = each.target.service
    try:
        seen = await watch_once(each.reader, engine_named(service.engine), service.port, each.cursor, gpus=False)
    except ConsoleError as error:
        each.lost = error
        return
    each.lines += seen.journal
    each.cursor = seen.cursor or each.cursor


def _tell(followed: Sequence[Followed], output: Output, wanted: re.Pattern[str]) -> None:
    """What was read of all of them, by the time each host's own clock gave it."""
    width = max((len(each.target.name) for each in followed), default=0)
    lines = [(line.at, each.target.name, line.text) for each in followed for line in each.lines]
    for each in followed:
        each.lines.clear()
    for at, name, text in sorted(lines, key=lambda line: line[0]):
        if wanted.search(text):
            output.data(f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}Z  {name:<{width}}  {text}")
