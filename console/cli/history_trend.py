"""`console history trend TARGET`: each measured figure over time, and where its level changed."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from console.cli.output import Output
from console.cli.results import open_history, target_name
from console.results.history import Span


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="host/service, or host when it has one service")
    parser.add_argument("--finding", default="", metavar="NAME", help="only this figure, such as decode_rate")
    parser.add_argument("--since", default="", metavar="TIME", help="only runs that ended since")
    parser.add_argument("--any-stack", action="store_true", help="one series over every engine, model and setting")
    parser.add_argument("--json", action="store_true", help="one JSON object a series")


def run(arguments: argparse.Namespace, output: Output) -> int:
    from console.results.queries.trend import trend_of
    from console.views.history import trend_text

    history, hosts = open_history(arguments)
    span = Span(history.moment(arguments.since) if arguments.since else None)
    target = target_name(arguments.target, hosts)
    found = trend_of(history, target, name=arguments.finding, span=span, by_stack=not arguments.any_stack)
    if arguments.json:
        for one in found:
            output.json(asdict(one))
    elif found:
        output.data(trend_text(found))
    else:
        output.note(f"no figure of {target} was measured twice")
    return 0
