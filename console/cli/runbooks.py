"""Runbooks and variables as the command line names them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from console.errors import UsageError

if TYPE_CHECKING:
    from console.schema.runbook import Runbook


def add_binding(parser: argparse.ArgumentParser) -> None:
    """The arguments that bind a runbook to targets."""
    parser.add_argument("runbook", nargs="?", metavar="RUNBOOK", help="a TOML file")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="host/service, host, or group")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="assignments", help="set a variable"
    )
    parser.add_argument("--limit", metavar="TAG", help="only targets of hosts with this tag")


def assignments(words: list[str]) -> dict[str, str]:
    """--set name=value, once a name."""
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {word!r}: write it as NAME=VALUE")
        if name in given:
            raise UsageError(f"--set {name} is given twice")
        given[name] = value
    return given


def load(name: str | None, *, verb: str = "run") -> Runbook:
    if not name:
        raise UsageError("no runbook named", hint=f"console {verb} runbooks/extend_context.toml")
    from console.planning import lint

    return lint.load(Path(name))
