"""`console diagnose TARGET|GROUP --bottleneck`: what limits it under load, and over a group, where its load lies."""

from __future__ import annotations

import argparse

from console.cli import one_step
from console.cli.output import Output
from console.schema.events import ConclusionMade, Event, FindingMade


class Members:
    """What each member's run says of its limit and of its load."""

    def __init__(self) -> None:
        self.running: dict[str, float] = {}
        self.limits: dict[str, str] = {}
        self.more: dict[str, list[str]] = {}

    def event(self, event: Event) -> None:
        if isinstance(event, FindingMade) and event.name == "running_requests" and event.target:
            self.running[event.target] = float(event.value)
        elif isinstance(event, ConclusionMade) and event.target:
            if event.kind == "bottleneck":
                self.limits[event.target] = event.text
            else:
                self.more.setdefault(event.target, []).append(f"{event.text}; {event.evidence}")


def run(arguments: argparse.Namespace, output: Output) -> int:
    from console.analysis.diagnosis.bottleneck import Member, bottleneck
    from console.views.cells import wrap

    runbook = one_step.runbook_of("diagnose.bottleneck", "What limits it under load?", {"since": arguments.since})
    members = Members()
    code = one_step.run(arguments, output, runbook, also=members.event)
    group = ""
    if len(members.limits) > 1:
        found = bottleneck([], [Member(name, running) for name, running in members.running.items()])
        silent = len(members.limits) - len(members.running)
        group = found.sentence() if found.kind else f"load is even over {len(members.running)} members"
        group += f"; {silent} say nothing of theirs" if silent else ""
    if arguments.json:
        if group:
            output.json({"type": "group.bottleneck", "text": group})
        return code
    for target, text in members.limits.items():
        for line in (
            *wrap(f"{target}: {text}", 80),
            *(w for one in members.more.get(target, []) for w in wrap(one, 80)),
        ):
            output.data(line)
    if group:
        for line in wrap(f"group: {group}", 80):
            output.data(line)
    return code
