"""`console lab up|down`: a simulated host that stays, with an inventory of its own."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from console.cli.output import Output
from console.errors import RefusedError
from console.lab.lab import LabError, start_detached, stop_detached
from console.lab.simulator.faults import NAMES


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["up", "down"])
    parser.add_argument("--fault", choices=NAMES, help="from the next start on, let the engine fail in this way")
    parser.add_argument("--speed", type=float, default=20.0, metavar="F", help="how much faster than life (default 20)")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where it lives (default: in the state folder)")


def run(arguments: argparse.Namespace, output: Output) -> int:
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    folder = arguments.folder or state / "console" / "lab"
    if arguments.action == "down":
        if not stop_detached(folder):
            raise RefusedError("no lab is running there", where=str(folder))
        output.note("ended")
        return 0
    try:
        lab = start_detached(folder, speed=arguments.speed, fault=arguments.fault)
    except LabError as error:
        raise RefusedError(str(error), where=str(folder)) from error
    output.data(str(lab.hosts_toml))
    output.note(f"next: export CONSOLE_HOSTS={lab.hosts_toml}")
    output.note("      console facts")
    output.note("end it with: console lab down" + (f" --folder {arguments.folder}" if arguments.folder else ""))
    return 0
