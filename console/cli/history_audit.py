"""`console history audit --setting S --quarter 2026Q3`: one setting on every target in a period."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import UTC, datetime

from console.cli.output import Output
from console.cli.results import open_history, target_name
from console.results.history import Span
from console.results.queries.audit import audit, quarter


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--setting", required=True, metavar="NAME", help="the setting, such as context_length")
    parser.add_argument("--quarter", metavar="2026Q3", help="a quarter of a year, in UTC")
    parser.add_argument("--since", metavar="TIME", help="instead of a quarter")
    parser.add_argument("--until", metavar="TIME", help="instead of a quarter; not part of the period")
    parser.add_argument("--target", default="", metavar="TARGET", help="only this target, or this host")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="as CSV")
    form.add_argument("--md", action="store_true", help="as Markdown")
    form.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace, output: Output) -> int:
    from console.views.audit import audit_csv, audit_markdown, audit_text

    history, hosts = open_history(arguments)
    if arguments.quarter:
        span = quarter(arguments.quarter)
    else:
        span = Span(
            history.moment(arguments.since) if arguments.since else None,
            history.moment(arguments.until, "--until") if arguments.until else None,
        )
    only = target_name(arguments.target, hosts)
    expected = list(hosts.targets) if hosts else []
    if only:
        expected = [name for name in expected if name == only or name.startswith(f"{only}/")]
    found = audit(history, arguments.setting, span, targets=expected, only=only, now=datetime.now(UTC).timestamp())
    if arguments.json:
        output.json(asdict(found))
    else:
        output.data(audit_csv(found) if arguments.csv else audit_markdown(found) if arguments.md else audit_text(found))
    return 0
