"""`console history list`: the newest records, chosen by what their commits tell."""

from __future__ import annotations

import argparse
from itertools import chain, islice

from console.cli.output import Output
from console.cli.results import open_history, target_name
from console.results.queries.list import Filter, find

LINES_AT_ONCE = 500
CHOICES = (
    ("--unit", "UNIT", "of this unit"),
    ("--runbook", "NAME", "of this runbook"),
    ("--outcome", "OUTCOME", "that ended so, such as rolled-back"),
    ("--operator", "NAME", "of this person"),
    ("--setting", "NAME", "that changed, found or wrote down this setting"),
    ("--text", "TEXT", "with these words in the message"),
    ("--since", "TIME", "that ended since, such as 30.days, 12h or 2026-03-01"),
    ("--until", "TIME", "that ended before"),
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target_given", nargs="?", default="", metavar="TARGET", help="only this target, or this host")
    parser.add_argument("--target", default="", metavar="TARGET", help="the same")
    for flag, metavar, text in CHOICES:
        parser.add_argument(flag, default="", metavar=metavar, help=f"only records {text}")
    parser.add_argument("-n", type=int, default=30, metavar="N", help="how many (default 30; 0: all)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace, output: Output) -> int:
    history, hosts = open_history(arguments)
    only = Filter(
        target=target_name(arguments.target or arguments.target_given, hosts),
        **{flag[2:]: getattr(arguments, flag[2:]) for flag, _, _ in CHOICES},
    )
    rows = find(history, only, limit=max(0, arguments.n))
    if arguments.json:
        for row in rows:
            output.json(dict(vars(row)))  # flat; a long history is copied deep for minutes
        return 0
    first = next(rows, None)
    if first is None:
        output.note(f"no such record in {history.path}")
        return 0
    from console.views.listings import history_lines

    lines = history_lines(chain([first], rows))
    while some := list(islice(lines, LINES_AT_ONCE)):
        output.data("\n".join(some))
    waiting = history.git.run("rev-list", "--count", "@{upstream}..HEAD")
    if waiting.ok and waiting.out.strip() not in ("", "0"):
        output.note(f"{waiting.out.strip()} commits are not pushed: console recover")
    return 0
