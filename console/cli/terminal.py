"""`console` without a command: the terminal UI, where there is a terminal."""

from __future__ import annotations

import argparse
import os
import sys

from console.cli.inventory import inventory_path
from console.cli.output import Output
from console.errors import UsageError


def run(arguments: argparse.Namespace, output: Output) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()) or os.environ.get("TERM") == "dumb":
        raise UsageError("the terminal UI needs a terminal", hint="console --help names the commands that do not")
    path = inventory_path(arguments)
    from console.tui.app import run_app

    return run_app(path, output.redactor)
