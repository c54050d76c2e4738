"""`console capacity TARGET`: will a context fit, and what would make it fit. A run of one step that changes nothing."""

from __future__ import annotations

import argparse

from console.cli import one_step, runbooks
from console.cli.output import Output
from console.schema.events import CapacityJudged, Event
from console.views.capacity import capacity_text


def add(parser: argparse.ArgumentParser) -> None:
    one_step.add(parser)
    parser.add_argument("--context", default="", metavar="N", help="judge this window: 200000, 200k")
    parser.add_argument(
        "--set",
        dest="assignments",
        action="append",
        default=[],
        metavar="SETTING=VALUE",
        help="judge with this setting, e.g. mem_fraction=0.92",
    )


def run(arguments: argparse.Namespace, output: Output) -> int:
    settings = runbooks.assignments(arguments.assignments)
    fields: dict[str, one_step.Field] = {
        "context": arguments.context,
        "settings": [f"{name}={value}" for name, value in settings.items()],
    }
    runbook = one_step.runbook_of(
        "capacity.check", "What fits?", {key: value for key, value in fields.items() if value}
    )
    reports: list[CapacityJudged] = []

    def keep(event: Event) -> None:
        if isinstance(event, CapacityJudged):
            reports.append(event)

    code = one_step.run(arguments, output, runbook, also=keep)
    if not arguments.json:
        for event in reports:
            output.data(capacity_text(event.report))
    return code
