"""`console diagnose TARGET|GROUP --bottleneck`: what limits it under load, and over a group, where its load lies."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from console.cli import one_step
from console.cli.output import Output
from console.schema.events import ConclusionMade, Event, FindingMade

if TYPE_CHECKING:
    from console.analysis.diagnosis.placement import Member


class Members:
    """What each member's run says of its limit, of its load, and of what its pool holds."""

    def __init__(self) -> None:
        self.load: dict[str, Mapping[str, float]] = {}
        self.limits: dict[str, str] = {}
        self.more: dict[str, list[str]] = {}
        self.rooms: dict[str, list[FindingMade]] = {}
        self.accepts: dict[str, list[FindingMade]] = {}
        self.drafter: dict[str, str] = {}

    def event(self, event: Event) -> None:
        if not event.target:
            return
        if isinstance(event, FindingMade):
            if event.name == "running_requests":
                self.load[event.target] = event.figures
            elif event.name == "room":
                self.rooms.setdefault(event.target, []).append(event)
            elif event.name == "accept_on_record":
                self.accepts.setdefault(event.target, []).append(event)
            elif event.name == "drafter_share":
                self.drafter[event.target] = str(event.value)
        elif isinstance(event, ConclusionMade):
            if event.kind == "bottleneck":
                self.limits[event.target] = event.text
            else:
                self.more.setdefault(event.target, []).append(f"{event.text}; {event.evidence}")

    def group(self) -> str:
        """Where the load of the group lies: seconds at work of each over the same time, and prompts found cached."""
        from console.analysis.diagnosis.bottleneck import bottleneck

        busy_s = max((one.get("busy_s", 0.0) for one in self.load.values()), default=0.0)
        members = [member(name, one, busy_s) for name, one in self.load.items() if busy_s]
        found = bottleneck([], members)
        silent = len(self.limits) - len(self.load)
        text = found.sentence() if found.kind else f"load is even over {len(members)} members"
        named = [sign for sign in found.signs if sign.kind == found.kind]
        text += "".join(f"; would confirm it: {sign.confirm}; next {sign.layer}" for sign in named)
        text = text if busy_s else "no load in any member's log: look again when there is some"
        return text + (f"; {silent} say nothing of theirs" if silent else "")

    def lines(self) -> Iterator[str]:
        """For people: each member's limit, and what its pool holds at once."""
        from console.views.bottleneck import room_lines
        from console.views.cells import wrap

        for target, text in self.limits.items():
            yield from wrap(f"{target}: {text}", 80)
            for one in self.more.get(target, []):
                yield from wrap(one, 80)
            yield from room_lines(self.rooms.get(target, []), self.accepts.get(target, []), self.drafter.get(target))


def member(name: str, seen: Mapping[str, float], busy_s: float) -> Member:
    """One member by the figures of its log. One that started within that time is taken by what it did since."""
    from console.analysis.diagnosis.placement import Member

    age_s = seen.get("age_s")
    hit = seen.get("new_hit_percent") if "new_request_s" in seen else seen.get("hit_percent")
    over_s = min(busy_s, age_s) if age_s else busy_s
    request_s = seen.get("new_request_s", seen.get("request_s", 0.0))
    return Member(name, request_s / over_s, None if hit is None else hit / 100, age_s)


def run(arguments: argparse.Namespace, output: Output) -> int:
    from console.views.cells import wrap

    runbook = one_step.runbook_of("diagnose.bottleneck", "What limits it under load?", {"since": arguments.since})
    members = Members()
    code = one_step.run(arguments, output, runbook, also=members.event)
    group = members.group() if len(members.limits) > 1 else ""
    if arguments.json:
        if group:
            output.json({"type": "group.bottleneck", "text": group})
        return code
    for line in members.lines():
        output.data(line)
    for line in wrap(f"group: {group}", 80) if group else ():
        output.data(line)
    return code
