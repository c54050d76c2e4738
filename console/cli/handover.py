"""`console handover`: one page for whoever takes over: what is open, held, drifted, unpushed or went wrong."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli.output import Output
from console.clock import stamp
from console.errors import ConsoleError, UsageError
from console.schema.names import seconds

if TYPE_CHECKING:
    from console.results.history import History
    from console.results.queries.handover import Item

SINCE = "12h"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--since", default=SINCE, metavar="TIME", help="how far back runs are told of (default 12h)")
    parser.add_argument("--limit", metavar="TAG", help="only targets of hosts with this tag")
    parser.add_argument("--no-look", action="store_true", help="ask no host: only what this machine knows")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--md", action="store_true", help="as Markdown")
    form.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace, output: Output) -> int:
    from console.cli.history_drift import look
    from console.cli.inventory import inventory
    from console.engines.registry import engine_named
    from console.planning.bind import bind
    from console.results.queries import handover as query
    from console.results.queries.drift import drift
    from console.runs.directory import base_folder
    from console.runs.listing import list_runs
    from console.views.handover import handover_markdown, handover_text

    hosts = inventory(arguments)
    now = datetime.now(UTC)
    since = began(arguments.since, now.timestamp())
    targets = bind(hosts, [], (), arguments.limit) if arguments.limit else hosts.targets()
    looked, errors = ([], {}) if arguments.no_look else asyncio.run(look(targets, output))
    history, unpushed, said = kept(hosts.results_path, hosts.results.push)
    runs = list_runs(base_folder(os.environ))
    seen = [facts for _, facts in looked]
    items: list[query.Item] = [*query.open_items(runs, seen), *query.guard_items(seen), *query.lock_items(seen)]
    items += query.out_items(runs)
    if history is not None:
        found = [drift(history, facts, engine_named(target.service.engine)) for target, facts in looked]
        items += [*query.drift_items(found, seen), *query.ended_items(history, since)]
    items += query.unkept_items(runs, unpushed, str(hosts.results_path))
    items += query.unseen_items({target: error.message for target, error in errors.items()})
    page = query.Handover(stamp(datetime.fromtimestamp(since, UTC)), stamp(now), ordered(items))
    for line in said:
        output.note(line)
    if arguments.json:
        output.json(asdict(page))
    else:
        output.data(handover_markdown(page) if arguments.md else handover_text(page))
    return 0


def began(text: str, now: float) -> float:
    """`12h`, `2d` or a number of seconds before now. Raises UsageError."""
    text = re.sub(r"(\d+)w", lambda match: f"{int(match[1]) * 7}d", text)
    try:
        return now - float(seconds(text))
    except ValueError:
        raise UsageError(f"--since {text!r} is not a duration", hint="such as 12h, 90m or 2d") from None


def kept(path: Path, push: str) -> tuple[History | None, int, Sequence[str]]:
    """The history, how many commits wait to be pushed, and what could not be told of either."""
    from console.results.history import History
    from console.results.repository import Repository

    try:
        history = History(path, os.environ)
        waiting = Repository(path, push=push, environment=os.environ).unpushed() or 0
    except ConsoleError as error:
        return None, 0, [error.message]
    return history, waiting, []


def ordered(items: Sequence[Item]) -> tuple[Item, ...]:
    from console.results.queries.handover import SECTIONS

    order = list(SECTIONS)
    return tuple(sorted(items, key=lambda item: order.index(item.kind)))
