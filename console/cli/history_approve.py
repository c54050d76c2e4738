"""`console history approve FILE`: approve a saved plan by a signed commit, for hosts that need one."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from console.cli.output import Output
from console.cli.results import open_history


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="FILE", help="a plan kept with 'console plan --out FILE'")


def run(arguments: argparse.Namespace, output: Output) -> int:
    from console.planning.saved import load_plan
    from console.results import approvals
    from console.results.repository import Repository
    from console.views.plan_markdown import plan_markdown

    path = Path(arguments.plan)
    saved = load_plan(path)
    history, _hosts = open_history(arguments)
    text = "\n".join(output.redactor.text(plan_markdown(plan)) for plan in saved.file.plans)
    sha = approvals.approve(history.path, saved.file.plan_id, approvals.digest(path), text, os.environ)
    reason = Repository(history.path, environment=os.environ).publish()
    output.note(
        f"approved plan {saved.file.plan_id}, commit {sha[:12]}" + (f"; not pushed: {reason}" if reason else "")
    )
    return 0
