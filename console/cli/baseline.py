"""`console measure baseline TARGET --trace NAME`: sweep, load and replay beside the production sample, one record."""

from __future__ import annotations

import argparse
from pathlib import Path

from console.cli import one_step
from console.cli.inventory import inventory
from console.cli.output import Output
from console.cli.results import known
from console.errors import UsageError
from console.planning.bind import bind
from console.results.queries.loads import NAMED, baseline_named, known_loads
from console.schema.events import Event, FindingMade
from console.schema.names import NAME
from console.views.baseline import baseline_text


def run(arguments: argparse.Namespace, output: Output) -> int:
    own = Path(arguments.trace).expanduser()
    trace = str(own.resolve()) if own.exists() else arguments.trace
    replay: dict[str, one_step.Field] = {"trace": trace}
    if arguments.minutes is not None:
        replay["minutes"] = arguments.minutes
    # Production first: what comes after it is our own load, and would be part of the sample.
    steps: list[tuple[str, dict[str, one_step.Field]]] = [
        ("diagnose.bottleneck", {"id": "production", "since": arguments.since}),
        ("measure.sweep", {"contexts": arguments.contexts} if arguments.contexts else {}),
        ("measure.load", {"concurrency": arguments.concurrency} if arguments.concurrency else {}),
        ("measure.replay", replay),
        ("diagnose.bottleneck", {"id": "limit", "since": arguments.since}),
    ]
    if arguments.name:
        refuse_known(arguments)
    title = "Measure a baseline" + (f": {arguments.name}" if arguments.name else "")
    runbook = one_step.runbook_of_steps(baseline_named(arguments.name), title, steps, "console measure baseline")
    findings: list[FindingMade] = []
    seen: set[str] = set()

    def keep(event: Event) -> None:
        if isinstance(event, FindingMade):
            # The second look at the log has our own load in it.
            if event.name != "running_requests" or event.target not in seen:
                findings.append(event)
            if event.name == "running_requests" and event.target:
                seen.add(event.target)

    code = one_step.run(arguments, output, runbook, also=keep)
    if not arguments.json and findings:
        output.data(baseline_text(findings))
    return code


def refuse_known(arguments: argparse.Namespace) -> None:
    """A name that no baseline may have, or that one has. Raises UsageError."""
    if not NAME.fullmatch(arguments.name):
        raise UsageError(f"{arguments.name!r} is no name: letters, digits, '.', '_', '-'")
    for target in bind(inventory(arguments), arguments.targets, (), arguments.limit):
        if known_loads(known(arguments).results, target.name, NAMED + arguments.name):
            raise UsageError(
                f"{target.name} has a baseline {arguments.name} already",
                hint="a baseline is never changed: say another --name",
            )
