"""`python -m console.lab up FOLDER | down FOLDER`: a lab without the console."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .lab import LabError, start_detached, stop_detached
from .simulator.faults import NAMES


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m console.lab")
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="start a lab and leave it running")
    up.add_argument("folder", type=Path)
    up.add_argument("--fault", choices=NAMES)
    up.add_argument("--speed", type=float, default=20.0)
    down = verbs.add_parser("down", help="end it")
    down.add_argument("folder", type=Path)
    asked = parser.parse_args(argv)
    if asked.verb == "down":
        return 0 if stop_detached(asked.folder) else 1
    try:
        lab = start_detached(asked.folder, speed=asked.speed, fault=asked.fault)
    except LabError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{lab.hosts_toml}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
