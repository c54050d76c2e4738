"""`console measure baseline TARGET --trace NAME`: sweep, load and replay beside the production sample, one record."""

from __future__ import annotations

import argparse
from pathlib import Path

from console.cli import one_step
from console.cli.output import Output
from console.schema.events import Event, FindingMade
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
    runbook = one_step.runbook_of_steps("measure-baseline", "Measure a baseline", steps, "console measure baseline")
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
