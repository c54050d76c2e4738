"""`console history report RUN`: the report of a run; --html makes one file that needs nothing beside it."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from console.cli.output import Output
from console.cli.results import open_history, target_name
from console.errors import StateError, UsageError
from console.results.history import History, Row
from console.results.store import document_of, find_rows


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run's id, or its beginning")
    parser.add_argument("--target", default="", metavar="TARGET", help="of which target, where there are several")
    parser.add_argument("--html", metavar="FILE", help="write it as one self-contained page")


def run(arguments: argparse.Namespace, output: Output) -> int:
    history, hosts = open_history(arguments)
    rows = find_rows(history, arguments.run)
    wanted = target_name(arguments.target, hosts)
    chosen = [row for row in rows if not wanted or row.target == wanted]
    if len(chosen) != 1:
        named = ", ".join(row.target for row in rows)
        raise UsageError(f"run {rows[0].run} has records of {named}", hint="name one with --target")
    report = document_of(history, chosen[0], "report.md")
    if not arguments.html:
        output.data(report.rstrip("\n"))
        return 0
    from console.results.page import html
    from console.runs.directory import write_durably

    page = output.redactor.text(html(report, charts(history, chosen[0], report)))
    path = Path(arguments.html).expanduser()
    try:
        write_durably(path, page.encode("utf-8", "backslashreplace"), mode=0o644)
    except OSError as error:
        raise StateError(f"cannot write: {error.strerror or error}", where=str(path)) from error
    output.note(f"wrote {path}")
    return 0


def charts(history: History, row: Row, report: str) -> dict[str, str]:
    """The SVG files that a report names, out of its commit."""
    return {name: document_of(history, row, name) for name in set(re.findall(r"\]\(([\w.-]+\.svg)\)", report))}
