"""`console logs TARGET…`: the journals of several services as one, by time. Read, shown and forgotten."""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.cli.connecting import connections
from console.cli.handover import began
from console.cli.inventory import inventory
from console.cli.output import Output
from console.clock import SystemClock, stamp
from console.errors import ConsoleError, UnreachableError, UsageError
from console.schema.hosts import Target
from console.schema.outcome import worst

if TYPE_CHECKING:
    from console.facts.journal import JournalLine
    from console.remote.session import Reader

POLL_S = 1.0
PATIENCE_S = 600.0  # for a host that is followed and does not answer


@dataclass
class Followed:
    """A target whose journal is read: and how far."""

    target: Target
    reader: Reader
    cursor: str
    read_to: float = 0.0  # when its last line was written; infinite once nothing older is to come
    code: int = 0  # of how its reading ended
    lines: list[JournalLine] = field(default_factory=list)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", nargs="+", metavar="TARGET", help="host/service, or host where it has one service")
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what is written from now on")
    parser.add_argument("--since", default="10m", metavar="TIME", help="how far back (default 10m)")
    parser.add_argument("--grep", default="", metavar="REGEX", help="only lines in which this is found")
    parser.add_argument("--json", action="store_true", help="one JSON object a line: ts, target, text")


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
    started = clock.now().timestamp()
    cursor = f"@{began(arguments.since, started):.0f}"
    ways = connections(arguments, output)
    followed: list[Followed] = []
    codes = []
    going: list[asyncio.Task[None]] = []
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
        await asyncio.gather(*(_elsewhere(each, output) for each in followed))
        # Each at its own pace: what one host does not answer holds up no line of the others.
        going = [asyncio.create_task(_follow(each, arguments, output, clock, started)) for each in followed]
        while going:
            _, left = await asyncio.wait(going, timeout=POLL_S)
            _tell(followed, arguments, output, wanted)
            if not left:
                break
        await asyncio.gather(*going)
        return worst([*codes, *(each.code for each in followed), 0])
    finally:
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)
        for each in followed:
            await each.reader.aclose()
        await ways.aclose()


async def _elsewhere(each: Followed, output: Output) -> None:
    """Say where a service writes, when that is not the journal: lines without a time cannot be told among others."""
    from console.engines.registry import engine_named
    from console.facts.collect import collect_again

    try:
        facts = await collect_again(each.reader, engine_named(each.target.service.engine), None)
    except ConsoleError:
        return  # reading its journal says so
    if path := facts.log.path:
        name = each.target.name
        where = "its container's log" if path == "container:" else path
        command = f"console exec {name} -- tail -n 200 {shlex.quote(path)}"
        if path == "container:":
            command = f"docker logs, or podman logs, on {each.target.host_name}"
        output.note(f"{name} writes to {where}; its journal has only what systemd says of it. See {command}")


async def _follow(
    each: Followed, arguments: argparse.Namespace, output: Output, clock: SystemClock, started: float
) -> None:
    """Everything that was written before `started`, a slice at a time; then, where that is wanted, what comes."""
    try:
        while True:
            try:
                fresh = await _read(each)
            except UnreachableError as error:
                if not arguments.follow:
                    raise
                output.note(f"{each.target.name}: {error.message}; trying again")
                fresh = await _read(each, patience_s=PATIENCE_S)
                output.note(f"{each.target.name}: connected again")
            if not fresh or each.read_to >= started:
                each.read_to = math.inf
                if not arguments.follow:
                    return
                await clock.sleep(POLL_S)
    except ConsoleError as error:
        each.code = output.error(error)
    finally:
        each.read_to = math.inf


async def _read(each: Followed, patience_s: float = 0.0) -> bool:
    """The next lines; whether there were any. Raises ConnectError."""
    from console.engines.registry import engine_named
    from console.facts.watch import watch_once

    service = each.target.service
    seen = await watch_once(
        each.reader, engine_named(service.engine), service.port, each.cursor, gpus=False, patience_s=patience_s
    )
    each.lines += seen.journal
    each.cursor = seen.cursor or each.cursor
    if seen.journal:
        each.read_to = max(each.read_to, seen.journal[-1].at)
    return bool(seen.journal)


def _tell(followed: Sequence[Followed], arguments: argparse.Namespace, output: Output, wanted: re.Pattern[str]) -> None:
    """What was read of all of them, by the time each host's own clock gave it.

    A host of which older lines are still to come holds back what is younger than the last it has told.
    """
    width = max((len(each.target.name) for each in followed), default=0)
    told_to = min((each.read_to for each in followed), default=math.inf)
    ready = [(line.at, each.target.name, line.text) for each in followed for line in each.lines if line.at <= told_to]
    for each in followed:
        each.lines = [line for line in each.lines if line.at > told_to]
    today = SystemClock().now().date()
    for at, name, text in sorted(ready, key=lambda line: line[0]):
        if not wanted.search(text):
            continue
        moment = datetime.fromtimestamp(at, UTC)
        if arguments.json:
            output.json({"ts": stamp(moment), "target": name, "text": text})
        else:
            day = "" if moment.date() == today else f"{moment:%m-%d} "
            output.data(f"{day}{moment:%H:%M:%S}Z  {name:<{width}}  {text}")
